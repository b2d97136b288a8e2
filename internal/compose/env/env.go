// Package env holds the environment of a run: variables, working folder, home folders, managed
// settings, and the receiver of notices.
//
//	command line ─┐
//	Go program ───┼─► Env ─► stores, models, sandbox, hooks, tools, settings
//	daemon ───────┘
//
// The parts of a run read all of this from [Env] and not from the process, so that a daemon can
// build a run with its client's environment:
//
//	e := &env.Env{Vars: os.Environ()}
//	home, err := e.Home()
package env

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/runspec"
)

// Env is the environment of a run. The zero value has no variables, uses the process's current
// folder and drops notices.
type Env struct {
	Vars    []string               // "KEY=value"; later ones win
	Getwd   func() (string, error) // default os.Getwd
	Managed string                 // the managed settings file; "" is settings.DefaultManaged
	Clock   func() time.Time       // nil is time.Now

	// Commands is the environment of commands and servers; nil means the environment of this process.
	Commands []string

	// Notify is called with each notice: something that the user should know and that does not stop
	// the run. Nil drops the notices. Notify may be called from several goroutines.
	Notify func(Notice)
}

// Notice is a message for the user.
type Notice struct {
	Text string
	Hint string // how to fix it, or ""
}

// String returns the text and the hint on one line.
func (n Notice) String() string {
	if n.Hint == "" {
		return n.Text
	}
	return n.Text + "; " + n.Hint
}

// Warn sends a notice without a hint.
func (e *Env) Warn(format string, args ...any) {
	e.SendNotice(Notice{Text: fmt.Sprintf(format, args...)})
}

// SendNotice sends notices to Notify.
func (e *Env) SendNotice(list ...Notice) {
	if e.Notify == nil {
		return
	}
	for _, n := range list {
		e.Notify(n)
	}
}

// Lookup returns the value of a variable, or "".
func (e *Env) Lookup(name string) string {
	v, _ := lookup(e.Vars, name)
	return v
}

// LookupVariable returns the value of a variable and whether it is set.
func (e *Env) LookupVariable(name string) (string, bool) { return lookup(e.Vars, name) }

// LookupCommand returns the value of a variable in the environment of commands.
func (e *Env) LookupCommand(name string) (string, bool) {
	if e.Commands != nil {
		return lookup(e.Commands, name)
	}
	return lookup(e.Vars, name)
}

func lookup(vars []string, name string) (string, bool) {
	for _, pair := range slices.Backward(vars) {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// Missing lists the variables that were set when the run started, but are now neither set nor
// fetched from a reference.
func (e *Env) Missing(want *runspec.Environment) (list []string) {
	for _, name := range want.Variables {
		if _, fetched := want.References[name]; fetched {
			continue
		}
		if _, ok := e.LookupCommand(name); !ok {
			list = append(list, name)
		}
	}
	return list
}

// WithoutServiceVariables removes the variables that belong to the daemon and would give an agent
// its credentials or sockets.
func WithoutServiceVariables(vars []string) []string {
	return slices.DeleteFunc(slices.Clone(vars), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{
			"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
			"HOLDFAST_DAEMON_TOKEN", "HOLDFAST_DAEMON_URL",
		}, name)
	})
}

// Home returns HOLDFAST_HOME, or ~/.holdfast. The folder may not exist yet.
func (e *Env) Home() (string, error) {
	if h := e.Lookup("HOLDFAST_HOME"); h != "" {
		return filepath.Abs(h)
	}
	user := e.Lookup("HOME")
	if user == "" {
		return "", outcome.Invalid("the home folder is not known", "set HOLDFAST_HOME")
	}
	return filepath.Join(user, ".holdfast"), nil
}

// UserHome returns the user's home folder, or "".
func (e *Env) UserHome() string {
	if h := e.Lookup("HOME"); strings.HasPrefix(h, "/") {
		return strings.TrimRight(h, "/")
	}
	return ""
}

// Dir returns the current folder.
func (e *Env) Dir() (string, error) {
	getwd := e.Getwd
	if getwd == nil {
		getwd = os.Getwd
	}
	wd, err := getwd()
	if err != nil {
		return "", fmt.Errorf("current folder: %w", err)
	}
	return wd, nil
}

// Now returns the current time.
func (e *Env) Now() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock()
}

// LookPath returns the path of a program on PATH, or "".
func (e *Env) LookPath(name string) string {
	for _, dir := range filepath.SplitList(e.Lookup("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found
		}
	}
	return ""
}

// Abs makes a path absolute. It accesses no files.
func (e *Env) Abs(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	wd, err := e.Dir()
	return filepath.Join(wd, path), err
}

// Folder returns the absolute path of an existing folder; "" is the current one.
func (e *Env) Folder(dir string) (string, error) {
	dir, err := e.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", outcome.Invalid(fmt.Sprintf("%s: no such folder", dir), "use an existing folder, or create it with mkdir")
	}
	if !info.IsDir() {
		return "", outcome.Invalid(fmt.Sprintf("%s is not a folder", dir), "")
	}
	return filepath.Clean(dir), nil
}

// SettingsOptions returns the locations of the settings for a session in cwd. The parameter files
// lists additional settings files.
func (e *Env) SettingsOptions(cwd string, files []string) (*settings.Options, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	return &settings.Options{Home: home, User: e.UserHome(), Cwd: cwd, Managed: e.Managed, Files: files,
		ClaudeHome: e.Lookup("CLAUDE_CONFIG_DIR"), CodexHome: e.Lookup("CODEX_HOME")}, nil
}

// Settings loads the settings of a session in cwd.
func (e *Env) Settings(cwd string, files []string) (*settings.Settings, error) {
	o, err := e.SettingsOptions(cwd, files)
	if err != nil {
		return nil, err
	}
	return settings.Load(o)
}

// SettingsFor loads the settings for a session in an existing folder; "" is the current one.
func (e *Env) SettingsFor(folder string) (*settings.Settings, error) {
	dir, err := e.Folder(folder)
	if err != nil {
		return nil, err
	}
	return e.Settings(dir, nil)
}

// Masker returns the masker that a folder's settings configure, or nil if masking is off. The
// folder "" is the current one. If the settings cannot be read, it uses the built-in patterns.
func (e *Env) Masker(folder string) (*secret.Masker, error) {
	if s, err := e.SettingsFor(folder); err == nil {
		if m, err := s.Masker(); err == nil {
			return m, nil
		}
	}
	return secret.New(nil)
}

// Mask masks the secrets in a text that the user wrote, for the log.
func (e *Env) Mask(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	m, err := e.Masker("")
	if err != nil {
		return "", err
	}
	text, _ = m.Text(text)
	return text, nil
}

// CleanupDays returns cleanupPeriodDays of the user's settings.
func (e *Env) CleanupDays() (int, error) {
	o, err := e.SettingsOptions("", nil)
	if err != nil {
		return 0, err
	}
	return settings.LoadCleanup(o)
}

// Trust returns the user's trust list, stored in the home folder.
func (e *Env) Trust() (*settings.Trust, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	return settings.OpenTrust(home)
}

// Account returns the name of the account that runs the process, or its number.
func Account() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprintf("uid %d", os.Getuid())
	}
	return u.Username
}
