package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/sandbox/caches"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// Call is one call of the command.
type Call struct {
	Flags  *Flags
	Env    []string // ours
	Dir    string   // the current folder, absolute
	Home   string   // $HOLDFAST_HOME: the user's settings; never visible inside
	User   string   // the user's home folder, or ""
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	Managed string // as in [settings.Options]

	// ExplainLater: when the command cannot run, somebody does all of this once more and
	// tells why. So nothing is told now.
	ExplainLater bool
}

// Run runs the command and waits for its end. Signals that we get meanwhile are
// passed on. The status is the command's. An error says that it never ran: a
// *[NotRun], or one of [settings] or [sandbox].
func (c *Call) Run(ctx context.Context) (status syscall.WaitStatus, err error) {
	report, err := openReport(c.Flags.JSONReport, c.Dir)
	if err != nil {
		return status, err
	}
	box, dir, err := c.open()
	if err != nil {
		return status, c.failed(report, nil, &NotRun{Kind: NotConfined, err: err})
	}
	defer box.Close()
	cmd := box.Command(ctx, c.Flags.Command[0], c.Flags.Command[1:]...)
	cmd.Terminal = isTerminal(c.Stdin)
	relay := newRelay(cmd.Terminal) // takes its time beside what comes next
	cmd.Dir, cmd.Env = dir, c.environ(box, dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.ReadStderr = !isTerminal(c.Stderr)
	if c.Home != "" {
		defer caches.Pruning(c.Home)()
	}
	relay.wait()
	err = cmd.Start()
	if err == nil {
		relay.start(cmd)
		err = cmd.Wait()
	}
	relay.stop()
	if cmd.State() == nil {
		return status, c.failed(report, cmd.Report(), notRun(err))
	}
	if err := report.write(cmd.State(), cmd.Report()); err != nil {
		fmt.Fprintln(c.Stderr, "holdfast: --json-report:", err)
	}
	if !c.Flags.Quiet {
		_, _ = io.WriteString(c.Stderr, cmd.Report().Text())
	}
	return cmd.State().Status, nil
}

// failed reports that the command did not run.
func (c *Call) failed(to *report, r *sandbox.Report, err *NotRun) error {
	if c.ExplainLater {
		return err
	}
	if r == nil {
		r = &sandbox.Report{CouldNotStart: err.Error()}
	}
	if wrong := to.write(nil, r); wrong != nil {
		return errors.Join(err, fmt.Errorf("--json-report: %w", wrong))
	}
	return err
}

// open opens the sandbox: the flags are a layer of their own, the strongest. Each
// layer restricts by itself, so a flag opens nothing that the settings close.
func (c *Call) open() (*sandbox.Sandbox, string, error) {
	dir := c.Dir
	if d := c.Flags.CWD; d != "" {
		dir = c.absolute(d)
	}
	list, err := c.layers(dir)
	if err != nil {
		return nil, "", err
	}
	folders := []string{dir}
	for _, w := range c.Flags.Write {
		folders = append(folders, c.absolute(w))
	}
	own, err := sandbox.NewChecker(c.flagSettings(), &sandbox.Options{
		Home: c.User, Dir: c.Dir, Origin: policy.Origin{Layer: layernames.Flag}, Trusted: true,
	})
	if err != nil {
		return nil, "", err
	}
	o := &sandbox.OpenOptions{Folders: folders, Home: c.User, SingleCommand: true}
	if c.Home != "" {
		o.State, o.Quarantine = []string{c.Home}, string(quarantine.Open(c.Home))
		o.Caches, _ = caches.DirFor(c.Home, &caches.User{Home: c.User, Get: c.get}, dir) // without it, the command has no caches
	}
	box, err := sandbox.Open(append([]*sandbox.Checker{own}, list...), o)
	return box, dir, err
}

// flagSettings are the settings that the flags are.
func (c *Call) flagSettings() *sandbox.Settings {
	s := &sandbox.Settings{AllowedWritePaths: c.Flags.Write, AllowedReadPaths: c.Flags.Read, DeniedPaths: c.Flags.Deny}
	if len(c.Flags.AllowDomain) > 0 {
		s.Network = &sandbox.Network{AllowedDomains: c.Flags.AllowDomain}
	}
	return s
}

// layers are the settings of files: what --settings says alone, or else those of
// the folder, the user and the administrator.
func (c *Call) layers(dir string) ([]*sandbox.Checker, error) {
	o := &settings.Options{Home: c.Home, User: c.User, Cwd: dir, Managed: c.Managed}
	if given := c.Flags.Settings; given != "" {
		if !strings.HasPrefix(strings.TrimSpace(given), "{") {
			given = c.absolute(given)
		}
		source, err := read(given)
		if err != nil {
			return nil, err
		}
		if !InSettingsFile(source) {
			return c.block(source, given)
		}
		o.Files, o.FlagsOnly, o.Cwd = []string{given}, true, c.Dir
	}
	s, err := settings.Load(o)
	if err != nil {
		return nil, err
	}
	list := s.Checkers()
	if o.FlagsOnly && len(list) == 0 {
		return nil, &NotRun{err: fmt.Errorf(`%s has no "sandbox" block`, c.Flags.Settings), Kind: NotConfined}
	}
	return list, nil
}

func read(given string) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(given), "{") {
		return []byte(given), nil
	}
	return os.ReadFile(given)
}

// block compiles sandbox settings that stand alone.
func (c *Call) block(source []byte, given string) ([]*sandbox.Checker, error) {
	origin, dir := policy.Origin{Layer: layernames.Flag, File: "--settings"}, c.Dir
	if filepath.IsAbs(given) {
		origin.File, dir = given, filepath.Dir(given)
	}
	s := &sandbox.Settings{}
	err := s.Decode(source)
	if err == nil {
		var own *sandbox.Checker
		if own, err = sandbox.NewChecker(s, &sandbox.Options{Home: c.User, Dir: dir, Origin: origin, Trusted: true}); err == nil {
			return []*sandbox.Checker{own}, nil
		}
	}
	return nil, &settingsError{err: err, file: origin.File}
}

// InSettingsFile reports whether a text is a settings file rather than sandbox
// settings alone.
func InSettingsFile(source []byte) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(source, &top) != nil {
		return false
	}
	for _, key := range []string{"sandbox", "permissions", "$schema"} {
		if _, ok := top[key]; ok {
			return true
		}
	}
	return false
}

// get is a variable of ours.
func (c *Call) get(name string) string {
	for _, entry := range slices.Backward(c.Env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// environ is what the command knows.
func (c *Call) environ(box *sandbox.Sandbox, dir string) []string {
	var env []string
	if c.Flags.KeepEnv {
		env = box.Enter(c.Env)
	} else {
		env = box.Environ(c.Env)
	}
	env = append(env, "PWD="+dir)
	for _, entry := range c.Flags.Env {
		if strings.Contains(entry, "=") {
			env = append(env, entry)
			continue
		}
		for _, ours := range c.Env {
			if strings.HasPrefix(ours, entry+"=") {
				env = append(env, ours)
			}
		}
	}
	return last(env)
}

// last keeps the last value of each variable, since some programs take the first.
func last(env []string) []string {
	at := map[string]int{}
	var out []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if i, ok := at[name]; ok {
			out[i] = entry
			continue
		}
		at[name] = len(out)
		out = append(out, entry)
	}
	return out
}

func (c *Call) absolute(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		return filepath.Join(c.User, p[1:])
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(c.Dir, p)
	}
	return filepath.Clean(p)
}

// Kind is why a command did not run.
type Kind int

// The kinds.
const (
	NotConfined   Kind = iota // the sandbox, or what it needs, failed
	NotExecutable             // the program is there and cannot be executed
	NotFound                  // there is no such program
)

// NotRun says that the command did not run.
type NotRun struct {
	Kind Kind
	err  error
}

func (e *NotRun) Error() string { return e.err.Error() }

func (e *NotRun) Unwrap() error { return e.err }

// notRun sorts why a command could not start.
func notRun(err error) *NotRun {
	start, started := errors.AsType[*kernel.StartError](err)
	switch {
	case started && !strings.HasPrefix(start.Step, "execute"):
		return &NotRun{Kind: NotConfined, err: err}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return &NotRun{Kind: NotFound, err: err}
	case started, errors.Is(err, fs.ErrPermission), isPathError(err):
		return &NotRun{Kind: NotExecutable, err: err}
	}
	return &NotRun{Kind: NotConfined, err: err}
}

func isPathError(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}

// settingsError is a block of sandbox settings that cannot be used.
type settingsError struct {
	err  error
	file string
}

func (e *settingsError) Error() string { return e.file + ": " + e.err.Error() }
func (e *settingsError) Unwrap() error { return e.err }
