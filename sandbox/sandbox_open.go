package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/caches"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/policy"
)

// scanTTL is how long a look at all protected places holds. What is known to be
// protected is looked at for each command.
const scanTTL = 2 * time.Second

// When what is protected goes away meanwhile, as when a git outside removes a worktree, a
// command is started so many times, and for so long.
const (
	attempts = 8
	patience = 300 * time.Millisecond
)

// retryStale says whether to try once more, and lets what is under way outside end first.
func retryStale(tries int, began time.Time) bool {
	if tries >= attempts && time.Since(began) > patience {
		return false
	}
	time.Sleep(time.Duration(min(tries, 5)) * time.Millisecond)
	return true
}

// Sandbox runs commands that the kernel holds to settings. It is safe for
// concurrent use.
type Sandbox struct {
	ask func(ctx context.Context, host string, port int, address string) (bool, error)
	log *slog.Logger

	unconfined []string // variables by which package managers find the person's settings
	toolsOnce  sync.Once
	tools      *caches.Tools
	npm        string // the registry that the person's npm asks

	mu        sync.Mutex
	compiler  *compiler
	plan      *plan
	jail      *kernel.Jail
	checkedAt time.Time
	running   map[*kernel.Process]*kernel.Jail
	uses      map[*kernel.Jail]int // commands that start or run in it
	closed    bool
	widened   map[string]*Sandbox // that With has made, by what they open
}

// watchedPath is something whose change makes a plan stale.
type watchedPath struct {
	path string
	kind fs.FileMode // its type
	size int64       // of what is read by us
	time time.Time   // of what is read by us; zero: the type alone counts
	none bool        // nothing is there
}

// remember marks a file that was read for the plan, or is not there yet.
func (c *compiler) remember(full string) {
	m := watchedPath{path: full}
	if info, there := lookAt(full); there {
		m.kind, m.size, m.time = info.Mode().Type(), info.Size(), info.ModTime()
	} else {
		m.none = true
	}
	c.watched = append(c.watched, m)
}

// kind marks that there is something, or nothing, whatever is in it.
func (c *compiler) kind(full string) {
	m := watchedPath{path: full}
	if info, there := lookAt(full); there {
		m.kind = info.Mode().Type()
	} else {
		m.none = true
	}
	c.watched = append(c.watched, m)
}

// mark marks all that the plan names in trees that may be written, and what is
// hidden.
func (c *compiler) mark() {
	p := &c.policy
	for _, at := range slices.Concat(p.Hide, p.ReadOnly, p.Pin, p.Write) {
		if info, err := os.Lstat(at); err == nil {
			c.watched = append(c.watched, watchedPath{path: at, kind: info.Mode().Type()})
		}
	}
	for _, n := range p.Forbid {
		c.watched = append(c.watched, watchedPath{path: n.Path, none: true})
	}
}

// isCurrent reports whether nothing that is marked has changed.
func (p *plan) isCurrent() bool {
	for i := range p.watched {
		m := &p.watched[i]
		info, err := os.Lstat(m.path)
		switch {
		case m.none:
			if err == nil && !kernel.IsPlaceholderFile(m.path, info) {
				return false
			}
		case err != nil || info.Mode().Type() != m.kind:
			return false
		case !m.time.IsZero() && (info.Size() != m.size || !info.ModTime().Equal(m.time)):
			return false
		}
	}
	return true
}

// Refresh looks whether what is protected is still what is there, and makes the
// kernel's policy anew when it is not. Each command does so when it starts.
func (s *Sandbox) Refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh()
}

func (s *Sandbox) refresh() error {
	if s.closed {
		return errClosed
	}
	if time.Since(s.checkedAt) < scanTTL && s.plan.isCurrent() {
		return nil
	}
	return s.renew()
}

// renew makes a plan of how things are now, and a jail when it differs.
func (s *Sandbox) renew() (err error) {
	began := time.Now()
	for tries := 1; ; tries++ {
		if err = s.renewOnce(); !errors.Is(err, fs.ErrNotExist) || !retryStale(tries, began) {
			return err
		}
	}
}

func (s *Sandbox) renewOnce() error {
	now := time.Now()
	p, err := s.compiler.compile()
	if err != nil {
		return err
	}
	if s.plan != nil && reflect.DeepEqual(p.policy, s.plan.policy) {
		s.plan, s.checkedAt = p, now
		return nil
	}
	jail, err := kernel.Prepare(&p.policy)
	if err != nil {
		return cannotConfine(err, p.policy.Weaker)
	}
	if local := s.compiler.merged.LocalBinding; jail.Weaker() && local.Set && local.Origin != (policy.Origin{}) {
		return errors.Join(&Error{
			Field: fieldLocal, Origin: local.Origin, Detail: "without namespaces, commands have no localhost of their own", Err: kernel.ErrUnsupported, hint: "take it out",
		}, jail.Close())
	}
	if jail.Weaker() {
		p.notices = append(p.notices, "the kernel refuses namespaces: names that decide about other programs are not protected in folders that may be written, "+
			"modes and times of files elsewhere can be changed, other processes are listed, and nothing reaches the network")
	}
	old := s.jail
	if old != nil {
		jail.TakeFrom(old)
	}
	s.plan, s.jail, s.checkedAt = p, jail, now
	if old != nil && s.uses[old] == 0 {
		return old.Close()
	}
	return nil
}

func cannotConfine(err error, weaker bool) error {
	hint := "holdfast doctor says what is missing"
	if errors.Is(err, kernel.ErrUnsupported) && !weaker {
		hint += "; inside a container, enableWeakerNestedSandbox accepts Landlock and seccomp alone"
	}
	return &Error{Detail: "the kernel cannot hold commands to these settings", Err: err, hint: hint}
}

// gone reports whether err says that something went away between the look at what is
// protected and the start. Nothing of the command has run then.
func gone(err error) bool {
	e, ok := errors.AsType[*kernel.StartError](err)
	return ok && !strings.HasPrefix(e.Step, "execute ") && errors.Is(e.Err, fs.ErrNotExist)
}

// start starts a command under the settings as they apply now. done is called with
// the process when it has ended.
func (s *Sandbox) start(a *kernel.Attr) (p *kernel.Process, err error) {
	began := time.Now()
	for tries := 1; ; tries++ {
		if p, err = s.startOnce(a); !gone(err) || !retryStale(tries, began) {
			return p, err
		}
		s.stale()
	}
}

// stale has the next command look at everything anew.
func (s *Sandbox) stale() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkedAt = time.Time{}
}

func (s *Sandbox) startOnce(a *kernel.Attr) (*kernel.Process, error) {
	s.mu.Lock()
	if err := s.refresh(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	jail := s.jail
	s.uses[jail]++
	s.mu.Unlock()
	p, err := jail.Start(a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.release(jail)
		return nil, err
	}
	s.running[p] = jail
	if s.closed {
		_ = p.Signal(syscall.SIGKILL) // it may have ended already
	}
	return p, nil
}

// done says that a command has ended.
func (s *Sandbox) done(p *kernel.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if jail := s.running[p]; jail != nil {
		delete(s.running, p)
		s.release(jail)
	}
}

// release gives a jail back; the last command of one that is out of use closes it.
func (s *Sandbox) release(j *kernel.Jail) {
	if s.uses[j]--; s.uses[j] > 0 {
		return
	}
	delete(s.uses, j)
	if j == s.jail && !s.closed {
		return
	}
	if err := j.Close(); err != nil && s.log != nil {
		s.log.Warn("sandbox: take down what held commands", "error", err)
	}
}

// Close ends the sandbox. Commands that still run are killed; what held them is
// taken down when whoever started them has waited for them.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.closeWide()
	for p := range s.running {
		_ = p.Signal(syscall.SIGKILL) // it may have ended already
	}
	if s.uses[s.jail] > 0 {
		return err
	}
	return errors.Join(err, s.jail.Close())
}

// Status says in one line what holds commands, for prompts and for people.
func (s *Sandbox) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.plan.policy
	parts := []string{"files", "network " + s.networkText(), fmt.Sprintf("%d protected names", len(p.ReadOnly)+len(p.Pin)+len(p.Forbid))}
	if len(p.Write) == 0 {
		parts[0] += " (none may be written)"
	} else {
		parts[0] += " (writes to " + strings.Join(p.Write, ", ") + ")"
	}
	if len(p.Hide) > 0 {
		parts = append(parts, fmt.Sprintf("%d hidden", len(p.Hide)))
	}
	name := "kernel: "
	if s.jail.Weaker() {
		name = "kernel, without namespaces: "
	}
	return name + strings.Join(parts, ", ")
}

func (s *Sandbox) networkText() string {
	switch m := s.compiler.merged; {
	case s.plan.policy.Network != kernel.ProxyNetwork && s.plan.policy.LocalBind && !s.jail.Weaker():
		return "limited to a localhost of its own"
	case s.plan.policy.Network != kernel.ProxyNetwork:
		return "none"
	case len(m.asking) == 0:
		return "asked about by host"
	case len(m.Hosts) == 1 && len(m.Hosts[0].Allow) > 0 && len(m.Hosts[0].Allow) <= 3:
		return "to " + strings.Join(m.Hosts[0].Allow, ", ") + " through a proxy"
	}
	return "to allowed hosts through a proxy"
}

// Digest is a digest of all that commands are held to, for the audit: the same
// text means the same sandbox.
func (s *Sandbox) Digest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(struct {
		Policy kernel.Policy
		Hosts  []egress.Layer
		Weaker bool
	}{s.plan.policy, s.compiler.merged.Hosts, s.jail.Weaker()})
	if err != nil {
		return "" // these types can always be written
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// What a command needs of its sandbox.

func (s *Sandbox) merged() *merged { return s.compiler.merged }

// dir is where commands start.
func (s *Sandbox) dir() string { return s.compiler.folders[0].path }

// temp is the folder for temporary files, as commands see it.
func (s *Sandbox) temp() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jail.TempDir()
}

// caches is the folder of the caches, as commands see it; "" where there is none.
func (s *Sandbox) caches() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jail.Caches()
}

// shows reports whether commands see caches of theirs in the place of a folder.
func (s *Sandbox) shows(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.plan.policy.CacheMounts, func(c kernel.CacheMount) bool { return c.Path == name })
}

// writes reports whether commands may write a path.
func (s *Sandbox) writes(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.plan.policy.Write, func(tree string) bool { return within(name, tree) })
}

func (s *Sandbox) weaker() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jail.Weaker()
}

func (s *Sandbox) network() kernel.Network {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan.policy.Network
}

// describe says in words why a command could not start, and what to do.
func (s *Sandbox) describe(e *kernel.StartError) (what, hint string) {
	step, name, _ := strings.Cut(e.Step, " ")
	if step == "execute" {
		if v := s.Explain(name, policy.OpExec); v != nil {
			return name + " was refused: " + v.Setting, v.Hint
		}
		switch {
		case errors.Is(e.Err, fs.ErrNotExist):
			return path.Base(name) + " is not there, or the program that it names to read it", "look at its first line"
		case errors.Is(e.Err, fs.ErrPermission):
			return name + " is not a program that may be executed", "chmod +x makes it one"
		}
		return e.Error(), ""
	}
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return "what is protected changed while the command started: " + e.Error(), "run it again"
	case errors.Is(e.Err, syscall.EAGAIN), errors.Is(e.Err, syscall.ENOSPC), errors.Is(e.Err, syscall.ENOMEM):
		return "the machine has no more room for a sandbox: " + e.Error(), "look at limits, and at /proc/sys/user/max_*_namespaces"
	}
	return "the kernel refused a part of the sandbox: " + e.Error(), "holdfast doctor says what this machine can do"
}
