package tools

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/watch"
	"github.com/holdfast-dev/holdfast/policy"
)

// hookFiles watches files during a run, for FileChanged and ConfigChange hooks. Without such hooks
// nothing is watched.
//
//	matchers, watchPaths ─┐                    ┌─► FileChanged
//	settings' files ──────┴─► watch.Watcher ───┴─► ConfigChange ─► not blocked: apply stricter rules
type hookFiles struct {
	box      *Toolbox
	registry *hook.Registry

	mu      sync.Mutex
	w       *watch.Watcher
	ctx     context.Context
	stop    context.CancelFunc
	closed  bool
	pending *policy.DynamicRules
}

// These are the names of the watch lists.
const (
	listNamed     = "matchers"
	listRequested = "watchPaths"
	listSettings  = "settings"
)

// WatchFiles starts watching files for the hooks of a run, once there is an agent.
func (b *Toolbox) WatchFiles(o *agent.Options) {
	r := b.hooks.Registry
	files, config := r.Has(hook.FileChanged), r.Has(hook.ConfigChange) && !b.contained
	if !files && !config {
		return
	}
	f := &hookFiles{box: b, registry: r, pending: &policy.DynamicRules{}}
	f.ctx, f.stop = context.WithCancel(context.Background())
	b.onClose(f.close)
	if files {
		o.Hooks.Watch = func(paths []string) error { return f.watch(listRequested, paths) }
		o.Hooks.OnChangeReported = f.known
	}
	if config {
		o.Permissions.Config.Limits = append(slices.Clip(o.Permissions.Config.Limits), policy.NamedPolicy{Name: "changed-settings", Policy: f.pending})
	}
	o.LoopObservers = append(o.LoopObservers, f)
}

// Observe implements [agent.LoopObserver]: the session was opened, or the current folder changed.
func (f *hookFiles) Observe(_ string, e event.Event) {
	switch e := e.(type) {
	case event.SessionOpened:
		f.watchMatchers(f.box.folders.Cwd())
		f.watchSettings()
	case event.ToolFinished:
		if e.Cwd != "" {
			f.watchMatchers(e.Cwd)
		}
	}
}

// watchMatchers watches the files that matchers name, both in the session's folder and in the current one.
func (f *hookFiles) watchMatchers(cwd string) {
	var list []string
	for _, name := range f.registry.WatchedFiles() {
		list = append(list, filepath.Join(f.box.folders.Roots()[0], name), filepath.Join(cwd, name))
	}
	if len(list) > 0 {
		f.reportError(f.watch(listNamed, list))
	}
}

func (f *hookFiles) watchSettings() {
	if !f.registry.Has(hook.ConfigChange) {
		return
	}
	var list []string
	for _, s := range f.box.settings.Sources() {
		list = append(list, s.File)
	}
	if len(list) > 0 {
		f.reportError(f.watch(listSettings, list))
	}
}

// reportError reports that files cannot be watched.
func (f *hookFiles) reportError(err error) {
	if err != nil {
		f.notice("files are not watched for hooks: " + err.Error())
	}
}

func (f *hookFiles) notice(text string) {
	if a, err := f.box.agentHandle.agent(); err == nil {
		a.Notice(text)
	}
}

// watch sets one of the watch lists. It creates the watcher when it is first needed.
func (f *hookFiles) watch(list string, paths []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return watch.ErrClosed
	}
	if f.w == nil {
		w, err := watch.New(&watch.Options{Fire: f.emitFileChanged, OnError: f.reportError})
		if err != nil {
			return err
		}
		f.w = w
	}
	return f.w.Watch(list, paths)
}

func (f *hookFiles) known(path string) {
	f.mu.Lock()
	w := f.w
	f.mu.Unlock()
	if w != nil {
		w.MarkReported(path)
	}
}

// emitFileChanged emits the event for a changed file. The watcher's goroutine calls it.
func (f *hookFiles) emitFileChanged(c watch.Change) {
	if f.ctx.Err() != nil {
		return
	}
	if slices.Contains(c.Lists, listSettings) {
		if name, ok := f.box.settings.SourceOf(c.Path); ok {
			f.emitConfigChange(name, c.Path)
		}
		if len(c.Lists) == 1 {
			return
		}
	}
	_, _ = f.box.agentHandle.fire(f.ctx, hook.Input{Event: hook.FileChanged, File: hook.File{Path: c.Path, Change: c.Kind}}) // if the store has failed, the loop stops anyway
}

// emitConfigChange emits ConfigChange. If no hook blocks the change, new deny and ask rules apply at once
// and everything else from the next run: a change during a run never grants more. Changes of
// managed settings cannot be blocked.
func (f *hookFiles) emitConfigChange(name, file string) {
	out, err := f.box.agentHandle.fire(f.ctx, hook.Input{Event: hook.ConfigChange, Source: name, File: hook.File{Path: file}})
	if err != nil {
		return
	}
	if out.Block != nil && name != "policy_settings" {
		f.notice(fmt.Sprintf("%s has changed; hook %s blocks the change for this run: %s", file, out.Block.Hook, cmp.Or(out.Block.Text, "blocked")))
		return
	}
	next, err := f.box.settings.Reload()
	if err != nil {
		f.notice(fmt.Sprintf("%s has changed and cannot be used: %v", file, err))
		return
	}
	rules, n, err := next.StricterRules(f.box.settings)
	if err != nil {
		f.notice(fmt.Sprintf("%s has changed and cannot be used: %v", file, err))
		return
	}
	f.pending.Set(rules)
	f.notice(fmt.Sprintf("%s has changed: its new deny and ask rules apply now (%s), everything else from the next run", file, term.Count(n, "rule")))
}

// close stops watching.
func (f *hookFiles) close() {
	f.stop()
	f.mu.Lock()
	w := f.w
	f.closed = true
	f.mu.Unlock()
	if w != nil {
		_ = w.Close()
	}
}
