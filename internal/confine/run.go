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
	Env    []string // environment of this process
	Dir    string   // the current folder, absolute
	Home   string   // $HOLDFAST_HOME: the user's settings; never visible inside
	User   string   // the user's home folder, or ""
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	Managed string // as in [settings.Options]

	// ExplainLater means that Run prints nothing if the command cannot run. The caller then repeats
	// all of this and prints the reason.
	ExplainLater bool
}

// Run runs the command and waits until it ends. Signals that this process receives meanwhile are
// passed to the command. It returns the exit status of the command. If it returns an error, the
// command did not run. The error is a *[NotRun], or an error of packages [settings] or [sandbox].
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
	relay := newRelay(cmd.Terminal) // takes some time, so it runs concurrently with the next steps
	cmd.Dir, cmd.Env = dir, c.environ(box, dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	cmd.ReadStderr = !isTerminal(c.Stderr)
	if c.Home != "" {
		defer caches.StartPruning(c.Home)()
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
	if werr := to.write(nil, r); werr != nil {
		return errors.Join(err, fmt.Errorf("--json-report: %w", werr))
	}
	return err
}

// open opens the sandbox. The flags are a separate layer, the strongest. Each layer is a separate
// restriction, so a flag allows nothing that the settings deny.
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
	flags, err := sandbox.NewChecker(c.flagSettings(), &sandbox.Options{
		Home: c.User, Dir: c.Dir, Origin: policy.Origin{Layer: layernames.Flag}, Trusted: true,
	})
	if err != nil {
		return nil, "", err
	}
	o := &sandbox.OpenOptions{Folders: folders, Home: c.User, SingleCommand: true}
	if c.Home != "" {
		o.State, o.Quarantine = []string{c.Home}, string(quarantine.Open(c.Home))
		o.Caches, _ = caches.DirFor(c.Home, &caches.User{Home: c.User, Get: c.get}, dir) // without this folder, the command has no caches
	}
	box, err := sandbox.Open(append([]*sandbox.Checker{flags}, list...), o)
	return box, dir, err
}

// flagSettings returns the flags as settings.
func (c *Call) flagSettings() *sandbox.Settings {
	s := &sandbox.Settings{AllowedWritePaths: c.Flags.Write, AllowedReadPaths: c.Flags.Read, DeniedPaths: c.Flags.Deny}
	if len(c.Flags.AllowDomain) > 0 {
		s.Network = &sandbox.Network{AllowedDomains: c.Flags.AllowDomain}
	}
	return s
}

// layers returns the contents of the settings files: only the files of --settings if there are any,
// otherwise those of the folder, the user and the administrator.
func (c *Call) layers(dir string) ([]*sandbox.Checker, error) {
	o := &settings.Options{Home: c.Home, User: c.User, Cwd: dir, Managed: c.Managed}
	if file := c.Flags.Settings; file != "" {
		if !strings.HasPrefix(strings.TrimSpace(file), "{") {
			file = c.absolute(file)
		}
		source, err := read(file)
		if err != nil {
			return nil, err
		}
		if !InSettingsFile(source) {
			return c.block(source, file)
		}
		o.Files, o.FlagsOnly, o.Cwd = []string{file}, true, c.Dir
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

func read(source string) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(source), "{") {
		return []byte(source), nil
	}
	return os.ReadFile(source)
}

// block compiles a file that contains only sandbox settings.
func (c *Call) block(source []byte, file string) ([]*sandbox.Checker, error) {
	origin, dir := policy.Origin{Layer: layernames.Flag, File: "--settings"}, c.Dir
	if filepath.IsAbs(file) {
		origin.File, dir = file, filepath.Dir(file)
	}
	s := &sandbox.Settings{}
	err := s.Decode(source)
	if err == nil {
		var checker *sandbox.Checker
		if checker, err = sandbox.NewChecker(s, &sandbox.Options{Home: c.User, Dir: dir, Origin: origin, Trusted: true}); err == nil {
			return []*sandbox.Checker{checker}, nil
		}
	}
	return nil, &settingsError{err: err, file: origin.File}
}

// InSettingsFile reports whether a text is a settings file, rather than only sandbox settings.
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

// get returns a variable of this process.
func (c *Call) get(name string) string {
	for _, entry := range slices.Backward(c.Env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// environ returns the environment of the command.
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
		for _, variable := range c.Env {
			if strings.HasPrefix(variable, entry+"=") {
				env = append(env, variable)
			}
		}
	}
	return last(env)
}

// last keeps only the last value of each variable, because some programs use the first one that
// they find.
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

// Kind says why a command did not run.
type Kind int

// The kinds.
const (
	NotConfined   Kind = iota // the sandbox, or something that it needs, failed
	NotExecutable             // the program exists and cannot be executed
	NotFound                  // the program does not exist
)

// NotRun means that the command did not run.
type NotRun struct {
	Kind Kind
	err  error
}

func (e *NotRun) Error() string { return e.err.Error() }

func (e *NotRun) Unwrap() error { return e.err }

// notRun classifies why a command could not start.
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

// settingsError is an invalid block of sandbox settings.
type settingsError struct {
	err  error
	file string
}

func (e *settingsError) Error() string { return e.file + ": " + e.err.Error() }
func (e *settingsError) Unwrap() error { return e.err }
