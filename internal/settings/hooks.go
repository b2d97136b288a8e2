package settings

import (
	"errors"
	"fmt"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/urlpattern"
	"github.com/holdfast-dev/holdfast/policy"
)

// HookStatus says whether a hook runs.
type HookStatus string

// The states. Hooks of layers other than local and project are always trusted.
const (
	HookTrusted   HookStatus = "trusted"   // it runs
	HookUntrusted HookStatus = "untrusted" // the hook is not trusted in this folder
	HookModified  HookStatus = "modified"  // the hook, or a file that it names, has changed
	HookDisabled  HookStatus = "disabled"  // disabled by a setting
)

// Hook is a hook in a settings file.
type Hook struct {
	hook.Definition
	Status HookStatus
	Reason string // why the hook does not run, for display; "" if it runs
	// Blocks is set if the hook does not run because it changed, and its failure would block. The
	// calls that it guards are then blocked until it is trusted again.
	Blocks bool

	everything bool // true if it is unknown which calls the hook guarded
}

// parsedHooks is the hook settings of one source.
type parsedHooks struct {
	list        []hook.Definition
	strict      Value[*bool]
	off         Value[*bool]
	managedOnly *policy.Origin
	urls        []Value[string]
	env         []Value[string]
	access      string // default project access of the commands in this source
	envSet      bool   // true if env is set, even to an empty list
}

// isFolderLayer reports whether a layer belongs to the project's folder.
func isFolderLayer(l string) bool { return l == layernames.Local || l == layernames.Project }

func (s *parsedSource) hooksBlock(path string, n jsontree.Node) {
	if !s.want(path, n, jsontree.Object) {
		return
	}
	block := hook.SettingsBlock{
		JSON: s.data[n.At:n.End], Layer: s.layer, File: s.file, Dir: s.dir,
		Position: func(offset int) (line, col int) { return s.position(n.At + offset) },
	}
	list, err := block.Decode()
	s.hooks.list = list
	for _, e := range hookErrors(err) {
		at := path
		if e.Field != "" {
			at += "." + e.Field
		}
		s.fault(n.At+e.Offset, e.Hint(), "%s: %s", at, e.What)
	}
}

// hookErrors splits joined errors.
func hookErrors(err error) []*hook.Error {
	if err == nil {
		return nil
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*hook.Error
		for _, e := range list.Unwrap() {
			all = append(all, hookErrors(e)...)
		}
		return all
	}
	if e, ok := errors.AsType[*hook.Error](err); ok {
		return []*hook.Error{e}
	}
	return []*hook.Error{{What: err.Error()}}
}

func (s *parsedSource) flag(into *Value[*bool]) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		if s.want(path, n, jsontree.Bool) {
			on := n.Text == "true"
			*into = Value[*bool]{&on, s.origin(n, n.Text)}
		}
	}
}

func (s *parsedSource) managedHooksOnly(path string, n jsontree.Node) {
	switch {
	case !s.want(path, n, jsontree.Bool):
	case s.layer != layernames.Managed:
		s.fault(n.At, "remove it; an administrator can set it in "+DefaultManaged, "%s: only managed settings can set this", path)
	case n.Text == "true":
		o := s.origin(n, n.Text)
		s.hooks.managedOnly = &o
	}
}

func (s *parsedSource) hookURLs(path string, n jsontree.Node) {
	s.texts(path, n, func(at string, item jsontree.Node) {
		if err := urlpattern.Check(item.Text); err != nil {
			s.fault(item.At, `write it as "https://hooks.example.com/*"`, "%s: %v", at, err)
			return
		}
		s.hooks.urls = append(s.hooks.urls, Value[string]{item.Text, s.origin(item, item.Text)})
	})
}

// hookSandbox decodes the default access of the hooks in the same file.
func (s *parsedSource) hookSandbox(path string, n jsontree.Node) {
	if !s.want(path, n, jsontree.Text) {
		return
	}
	all := []string{"read", "write", "off"}
	if s.hooks.access = string(n.Text); !slices.Contains(all, s.hooks.access) {
		s.fault(n.At, "write read, write or off", "%s: unknown project access %q", path, n.Text)
	}
}

var variableName = lazyregexp.Must(`\A[A-Za-z_][A-Za-z0-9_]*\z`)

func (s *parsedSource) hookEnv(path string, n jsontree.Node) {
	s.hooks.envSet = true
	s.texts(path, n, func(at string, item jsontree.Node) {
		if !variableName().MatchString(item.Text) {
			s.fault(item.At, `write only the name, such as "HOOK_TOKEN"`, "%s: invalid variable name %q", at, item.Text)
			return
		}
		s.hooks.env = append(s.hooks.env, Value[string]{item.Text, s.origin(item, item.Text)})
	})
}

// addHooks adds a layer's hook settings. An untrusted folder can only make the handling of failures
// stricter. If it could disable hooks, it could disable those that watch it.
func (m *merger) addHooks(s *parsedSource) {
	h := &s.hooks
	for _, d := range h.list {
		if d.Sandbox == "" && d.Type() == "command" {
			d.Sandbox = h.access
		}
		m.out.Hooks = append(m.out.Hooks, Hook{Definition: d})
	}
	if m.out.ManagedHooksOnly == nil {
		m.out.ManagedHooksOnly = h.managedOnly
	}
	if !s.untrusted || h.strict.Value != nil && *h.strict.Value {
		preferFlag(&m.strict, h.strict)
	} else if h.strict.Value != nil {
		m.ignore("strictHooks false", h.strict.Origin)
	}
	if !s.untrusted {
		preferFlag(&m.off, h.off)
		m.out.HookURLs = append(m.out.HookURLs, h.urls...)
		m.out.HookEnv = append(m.out.HookEnv, h.env...)
		m.out.HookEnvLimited = m.out.HookEnvLimited || h.envSet
		return
	}
	if h.off.Value != nil {
		m.ignore("disableAllHooks "+h.off.Origin.Rule, h.off.Origin)
	}
	for _, v := range h.urls {
		m.ignore("allowedHttpHookUrls "+v.Value, v.Origin)
	}
	for _, v := range h.env {
		m.ignore("httpHookAllowedEnvVars "+v.Value, v.Origin)
	}
}

// HookAccess returns the project access of a hook's command: read, write or off; "" if it is not a
// command. The default is write for a hook of the folder or of another program, because the user
// trusted the hook, and because formatters and loggers need to write.
func (s *Settings) HookAccess(d *hook.Definition) string {
	switch {
	case d.Sandbox != "" || d.Type() != "command":
		return d.Sandbox
	case isFolderLayer(d.Origin.Layer) || s.Program(d.Origin.File) != "":
		return "write"
	}
	return "read"
}

func preferFlag(into *Value[*bool], v Value[*bool]) {
	if into.Value == nil {
		*into = v
	}
}

// checkHooks sets the status of every hook.
func (m *merger) checkHooks() {
	if m.strict.Value != nil {
		m.out.StrictHooks = Value[bool]{*m.strict.Value, m.strict.Origin}
	}
	if m.off.Value != nil {
		m.out.NoHooks = Value[bool]{*m.off.Value, m.off.Origin}
	}
	for i := range m.out.Hooks {
		h := &m.out.Hooks[i]
		err := h.ComputeDigest(m.out.Project)
		switch {
		case err == nil:
			h.Status, h.Reason = m.status(h)
		case isFolderLayer(h.Origin.Layer):
			if h.Status, h.Reason = HookUntrusted, err.Error(); m.trustedBefore(h) != nil {
				h.Status = HookModified
			}
		default:
			hint := ""
			if e, ok := errors.AsType[*hook.Error](err); ok {
				hint = e.Hint()
			}
			o := h.Origin
			m.problems = append(m.problems, Problem{
				Layer: o.Layer, File: o.File, Line: o.Line, Col: o.Col, Detail: err.Error(), Hint: hint, Fatal: true,
			})
		}
	}
	m.findRemovedHooks()
}

// status returns whether a hook with a digest runs.
func (m *merger) status(h *Hook) (HookStatus, string) {
	o := h.Origin
	switch only, off := m.out.ManagedHooksOnly, m.out.NoHooks; {
	case only != nil && o.Layer != layernames.Managed:
		return HookDisabled, "allowManagedHooksOnly, " + OriginText(*only)
	case m.foreignHooksOff != nil && slices.Contains(m.foreignFiles, o.File):
		return HookDisabled, "disableAllHooks, " + OriginText(*m.foreignHooksOff)
	case off.Value && (o.Layer != layernames.Managed || off.Origin.Layer == layernames.Managed):
		if off.Origin.Line == 0 {
			return HookDisabled, OriginText(off.Origin)
		}
		return HookDisabled, "disableAllHooks, " + OriginText(off.Origin)
	}
	if !isFolderLayer(o.Layer) {
		return HookTrusted, ""
	}
	known := m.trust.hooks(m.out.Project)
	if slices.ContainsFunc(known, func(t TrustedHook) bool { return t.Digest == h.Digest }) {
		return HookTrusted, ""
	}
	if m.trustedBefore(h) != nil {
		return HookModified, "the hook, or a file that it names, has changed since it was trusted"
	}
	return HookUntrusted, "not trusted in this folder"
}

// ActiveHooks returns the hooks that run, the strongest layer first. A changed hook that blocks is
// replaced by a function that blocks.
func (s *Settings) ActiveHooks() []hook.Definition {
	var list []hook.Definition
	for i := range s.Hooks {
		switch h := &s.Hooks[i]; {
		case h.Status == HookTrusted:
			list = append(list, h.Definition)
		case h.Blocks:
			list = append(list, s.blockingHook(h))
		}
	}
	return list
}

// HookOptions returns the options of a registry for these hooks. The caller sets the runner.
func (s *Settings) HookOptions() hook.Options {
	return hook.Options{Strict: s.StrictHooks.Value, Rules: s.ruleOptions()}
}

// HookNotice returns a text that says which hooks of the folder do not run, and a hint. Both are ""
// if all run.
func (s *Settings) HookNotice() (what, hint string) {
	var events, modified, blocked, removed []string
	n := 0
	for i := range s.Hooks {
		h := &s.Hooks[i]
		if h.Status != HookUntrusted && h.Status != HookModified {
			continue
		}
		n++
		if h.Status == HookModified {
			modified = append(modified, short(HookName(&h.Definition)))
		}
		if h.Blocks && !slices.Contains(blocked, string(h.Event)) {
			blocked = append(blocked, string(h.Event))
		}
		if !slices.Contains(events, string(h.Event)) {
			events = append(events, string(h.Event))
		}
	}
	for _, t := range s.removedHooks {
		removed = append(removed, t.Event+" "+short(t.Name))
	}
	switch {
	case n == 0 && len(removed) == 0:
		return "", ""
	case n == 0:
		return "trusted hooks were removed from this folder's settings: " + strings.Join(removed, ", "), "holdfast trust --hooks-only " + quote(s.Project)
	}
	switch n {
	case 1:
		what = "1 hook of this folder is not trusted and does not run: "
	default:
		what = fmt.Sprintf("%d hooks of this folder are not trusted and do not run: ", n)
	}
	what += strings.Join(events, ", ")
	if len(modified) > 0 {
		what += "; changed since: " + strings.Join(modified, ", ")
	}
	if len(blocked) > 0 {
		what += "; events it guarded are blocked until you trust it again: " + strings.Join(blocked, ", ")
	}
	if len(removed) > 0 {
		what += "; trusted but removed: " + strings.Join(removed, ", ")
	}
	return what, "holdfast trust --hooks-only " + quote(s.Project)
}

// HookName returns the display name of a hook.
func HookName(d *hook.Definition) string {
	switch {
	case d.Name != "":
		return d.Name
	case d.Command != "":
		return strings.Join(append([]string{d.Command}, d.Args...), " ")
	case d.URL != "":
		return d.URL
	}
	return d.Type()
}

func short(name string) string {
	name = strings.Join(strings.Fields(name), " ")
	if r := []rune(name); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return name
}
