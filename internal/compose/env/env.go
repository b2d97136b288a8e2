// Package env describes the caller of a run: its environment variables, its current
// folder, its home folders, the administrator's settings, and where notices go.
//
//	command line ─┐
//	Go program ───┼─► Env ─► stores, models, sandbox, hooks, tools, settings
//	daemon ───────┘
//
// The parts of a run read nothing of this from the process, so that a daemon can build a
// run with the environment of its client:
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

// Env is the environment of a run. The zero value has no variables, works in the
// process's current folder and drops notices.
type Env struct {
	Vars    []string               // "KEY=value"; later ones win
	Getwd   func() (string, error) // default os.Getwd
	Managed string                 // the administrator's settings file; "" is settings.DefaultManaged
	Clock   func() time.Time       // nil is time.Now

	// Commands is the environment of commands and servers. Nil is this process's.
	Commands []string

	// Notify is called with everything that a person should know and that does not stop
	// the run. Nil drops it. It may be called from several goroutines.
	Notify func(Notice)
}

// Notice is something that a person should know.
type Notice struct {
	Text string
	Hint string // what to do; may be ""
}

// String is the text with the hint on one line.
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

// SendNotice sends notices.
func (e *Env) SendNotice(list ...Notice) {
	if e.Notify == nil {
		return
	}
	for _, n := range list {
		e.Notify(n)
	}
}

// Lookup returns a variable, or "".
func (e *Env) Lookup(name string) string {
	v, _ := lookup(e.Vars, name)
	return v
}

// LookupVariable returns a variable, and whether it is set.
func (e *Env) LookupVariable(name string) (string, bool) { return lookup(e.Vars, name) }

// LookupCommand returns a variable of the environment of commands.
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

// Missing are the variables that a run was started with and that are neither set here nor fetched.
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

// WithoutServiceVariables leaves out of an environment what is for the daemon alone and would give an
// agent its credential or its sockets.
func WithoutServiceVariables(vars []string) []string {
	return slices.DeleteFunc(slices.Clone(vars), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{
			"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
			"HOLDFAST_DAEMON_TOKEN", "HOLDFAST_DAEMON_URL",
		}, name)
	})
}

// Home is HOLDFAST_HOME, or ~/.holdfast. It is created by whoever writes there first.
func (e *Env) Home() (string, error) {
	if h := e.Lookup("HOLDFAST_HOME"); h != "" {
		return filepath.Abs(h)
	}
	user := e.Lookup("HOME")
	if user == "" {
		return "", outcome.Invalid("there is no home folder", "set HOLDFAST_HOME")
	}
	return filepath.Join(user, ".holdfast"), nil
}

// UserHome is the person's home folder, or "".
func (e *Env) UserHome() string {
	if h := e.Lookup("HOME"); strings.HasPrefix(h, "/") {
		return strings.TrimRight(h, "/")
	}
	return ""
}

// Dir is the current folder.
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

// Now is the time by the clock.
func (e *Env) Now() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock()
}

// LookPath finds a program on the PATH, or returns "".
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

// Abs makes a path absolute. It opens nothing.
func (e *Env) Abs(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	wd, err := e.Dir()
	return filepath.Join(wd, path), err
}

// Folder is the absolute path of a folder that exists; "" is the current one.
func (e *Env) Folder(dir string) (string, error) {
	dir, err := e.Abs(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", outcome.Invalid(fmt.Sprintf("%s: no such folder", dir), "name one that exists; mkdir makes one")
	}
	if !info.IsDir() {
		return "", outcome.Invalid(fmt.Sprintf("%s is not a folder", dir), "")
	}
	return filepath.Clean(dir), nil
}

// SettingsOptions say where the settings of a session in cwd are; files are more of them.
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

// SettingsFor loads the settings of a session in a folder that exists; "" is the current one.
func (e *Env) SettingsFor(folder string) (*settings.Settings, error) {
	dir, err := e.Folder(folder)
	if err != nil {
		return nil, err
	}
	return e.Settings(dir, nil)
}

// Masker masks secrets as the settings of a folder say, "" for the current one; nil: they mask
// nothing. With settings that cannot be read the built-in patterns count.
func (e *Env) Masker(folder string) (*secret.Masker, error) {
	if s, err := e.SettingsFor(folder); err == nil {
		if m, err := s.Masker(); err == nil {
			return m, nil
		}
	}
	return secret.New(nil)
}

// Mask is what a person wrote, without its secrets, for the log.
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

// CleanupDays is cleanupPeriodDays of the user's settings.
func (e *Env) CleanupDays() (int, error) {
	o, err := e.SettingsOptions("", nil)
	if err != nil {
		return 0, err
	}
	return settings.LoadCleanup(o)
}

// Trust is the list of what the person trusts, in the home folder.
func (e *Env) Trust() (*settings.Trust, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	return settings.OpenTrust(home)
}

// Account is the name of the account that the process runs as, or its number.
func Account() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprintf("uid %d", os.Getuid())
	}
	return u.Username
}
