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

// scanTTL is how long a full scan for protected names is valid. Known protected paths are checked for
// each command.
const scanTTL = 2 * time.Second

// A start is retried at least this often and for at least this long if protected files disappear
// while the command starts, for example because git outside the sandbox removes a worktree.
const (
	minAttempts = 8
	minPatience = 300 * time.Millisecond
)

// retryStale reports whether to retry, after waiting for the operation outside the sandbox to end.
func retryStale(tries int, began time.Time) bool {
	if tries >= minAttempts && time.Since(began) > minPatience {
		return false
	}
	time.Sleep(time.Duration(min(tries, 5)) * time.Millisecond)
	return true
}

// Sandbox runs commands that the kernel confines according to settings. It is safe for concurrent use.
type Sandbox struct {
	ask func(ctx context.Context, host string, port int, address string) (bool, error)
	log *slog.Logger

	toolVariables []string // variables by which package managers find the user's settings
	toolsOnce     sync.Once
	tools         *caches.Tools
	npm           string // the registry that the user's npm uses

	mu        sync.Mutex
	compiler  *compiler
	plan      *plan
	jail      *kernel.Jail
	checkedAt time.Time
	running   map[*kernel.Process]*kernel.Jail
	uses      map[*kernel.Jail]int // number of commands that are starting or running in each jail
	closed    bool
	widened   map[string]*Sandbox // sandboxes that Widen has made, keyed by what the user allowed in them
}

// watchedPath is a path whose change makes a plan stale.
type watchedPath struct {
	path string
	kind fs.FileMode // its type
	size int64       // size of files that this process reads
	time time.Time   // modification time of files that this process reads; if zero, only the type is compared
	none bool        // true if the path does not exist
}

// watchContent marks a path, so that a plan becomes stale if the file at the path is created, removed
// or changed.
func (c *compiler) watchContent(full string) {
	m := watchedPath{path: full}
	if info, exists := lstat(full); exists {
		m.kind, m.size, m.time = info.Mode().Type(), info.Size(), info.ModTime()
	} else {
		m.none = true
	}
	c.watched = append(c.watched, m)
}

// watchKind is like remember, but ignores changes of the file's content.
func (c *compiler) watchKind(full string) {
	m := watchedPath{path: full}
	if info, exists := lstat(full); exists {
		m.kind = info.Mode().Type()
	} else {
		m.none = true
	}
	c.watched = append(c.watched, m)
}

// watchAll marks all paths in writable trees that the plan names, and all hidden paths.
func (c *compiler) watchAll() {
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

// isCurrent reports whether no marked path has changed.
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

// Refresh rebuilds the kernel policy if protected files have changed. Each command calls it on start.
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

// renew builds a plan for the current state, and a new jail if the plan differs.
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
			Field: fieldLocal, Origin: local.Origin, Detail: "without namespaces, commands have no private localhost", Err: kernel.ErrUnsupported, hint: "remove it",
		}, jail.Close())
	}
	if jail.Weaker() {
		p.notices = append(p.notices, "the kernel refuses namespaces: protected names are not protected in writable folders, "+
			"commands can change modes and times of files elsewhere and list other processes, and they have no network")
	}
	old := s.jail
	if old != nil {
		jail.TakeNamespacesFrom(old)
	}
	s.plan, s.jail, s.checkedAt = p, jail, now
	if old != nil && s.uses[old] == 0 {
		return old.Close()
	}
	return nil
}

func cannotConfine(err error, weaker bool) error {
	hint := "run holdfast doctor to see what is missing"
	if errors.Is(err, kernel.ErrUnsupported) && !weaker {
		hint += "; inside a container, enableWeakerNestedSandbox accepts Landlock and seccomp alone"
	}
	return &Error{Detail: "the kernel cannot confine commands to these settings", Err: err, hint: hint}
}

// isPathGone reports whether err means that a path disappeared between the check of protected paths and the
// start. In that case nothing of the command has run.
func isPathGone(err error) bool {
	e, ok := errors.AsType[*kernel.StartError](err)
	return ok && !strings.HasPrefix(e.Step, "execute ") && errors.Is(e.Err, fs.ErrNotExist)
}

// start starts a command under the current settings. done is called with the process after it has
// ended.
func (s *Sandbox) start(a *kernel.Attr) (p *kernel.Process, err error) {
	began := time.Now()
	for tries := 1; ; tries++ {
		if p, err = s.startOnce(a); !isPathGone(err) || !retryStale(tries, began) {
			return p, err
		}
		s.forceCheck()
	}
}

// forceCheck makes the next command check everything again.
func (s *Sandbox) forceCheck() {
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
		_ = p.Signal(syscall.SIGKILL) // the process may have ended already
	}
	return p, nil
}

// done records that a command has ended.
func (s *Sandbox) done(p *kernel.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if jail := s.running[p]; jail != nil {
		delete(s.running, p)
		s.release(jail)
	}
}

// release returns a jail; the last command of an unused jail closes it.
func (s *Sandbox) release(j *kernel.Jail) {
	if s.uses[j]--; s.uses[j] > 0 {
		return
	}
	delete(s.uses, j)
	if j == s.jail && !s.closed {
		return
	}
	if err := j.Close(); err != nil && s.log != nil {
		s.log.Warn("sandbox: remove the confinement of commands", "error", err)
	}
}

// Close closes the sandbox. Running commands are killed; their confinement is removed after their Wait
// returns.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.closeWidened()
	for p := range s.running {
		_ = p.Signal(syscall.SIGKILL) // the process may have ended already
	}
	if s.uses[s.jail] > 0 {
		return err
	}
	return errors.Join(err, s.jail.Close())
}

// Status describes in one line how commands are confined, for prompts and for display.
func (s *Sandbox) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.plan.policy
	parts := []string{"files", "network " + s.networkText(), fmt.Sprintf("%d protected names", len(p.ReadOnly)+len(p.Pin)+len(p.Forbid))}
	if len(p.Write) == 0 {
		parts[0] += " (none writable)"
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
		return "private localhost only"
	case s.plan.policy.Network != kernel.ProxyNetwork:
		return "none"
	case len(m.asking) == 0:
		return "with an approval request for each host"
	case len(m.Hosts) == 1 && len(m.Hosts[0].Allow) > 0 && len(m.Hosts[0].Allow) <= 3:
		return "to " + strings.Join(m.Hosts[0].Allow, ", ") + " through a proxy"
	}
	return "to allowed hosts through a proxy"
}

// Digest returns a digest of all restrictions on commands, for the audit trail: equal digests mean the
// same sandbox.
func (s *Sandbox) Digest() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := json.Marshal(struct {
		Policy kernel.Policy
		Hosts  []egress.Layer
		Weaker bool
	}{s.plan.policy, s.compiler.merged.Hosts, s.jail.Weaker()})
	if err != nil {
		return "" // these types can always be encoded
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Values that a command needs from its sandbox.

func (s *Sandbox) merged() *merged { return s.compiler.merged }

// dir returns the folder in which commands start.
func (s *Sandbox) dir() string { return s.compiler.folders[0].path }

// temp returns the folder for temporary files, as commands see it.
func (s *Sandbox) temp() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jail.TempDir()
}

// caches returns the folder of the caches, as commands see it; "" if there is none.
func (s *Sandbox) caches() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jail.Caches()
}

// showsCacheFor reports whether commands see a folder of their caches in place of the folder with this
// name.
func (s *Sandbox) showsCacheFor(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.plan.policy.CacheMounts, func(c kernel.CacheMount) bool { return c.Path == name })
}

// canWrite reports whether commands may write to a path.
func (s *Sandbox) canWrite(name string) bool {
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

// describeStartError returns why a command could not start, and what to do.
func (s *Sandbox) describeStartError(e *kernel.StartError) (what, hint string) {
	step, name, _ := strings.Cut(e.Step, " ")
	if step == "execute" {
		if v := s.Explain(name, policy.OpExec); v != nil {
			return name + " was refused: " + v.Setting, v.Hint
		}
		switch {
		case errors.Is(e.Err, fs.ErrNotExist):
			return path.Base(name) + " or the interpreter in its first line does not exist", "check its first line"
		case errors.Is(e.Err, fs.ErrPermission):
			return name + " is not executable", "make it executable: chmod +x"
		}
		return e.Error(), ""
	}
	switch {
	case errors.Is(e.Err, fs.ErrNotExist):
		return "protected files changed while the command started: " + e.Error(), "run it again"
	case errors.Is(e.Err, syscall.EAGAIN), errors.Is(e.Err, syscall.ENOSPC), errors.Is(e.Err, syscall.ENOMEM):
		return "the machine has no resources left for a sandbox: " + e.Error(), "check limits and /proc/sys/user/max_*_namespaces"
	}
	return "the kernel refused a part of the sandbox: " + e.Error(), "run holdfast doctor to see what this machine supports"
}
