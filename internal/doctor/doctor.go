// Package doctor checks this machine and the setup of an environment: the home folder, the store
// and its disk, the project, programs, models, the sandbox and the container engine.
//
//	report := doctor.Examine(ctx, e, nil)
//	for _, c := range report.Checks { fmt.Println(c.State, c.Name, c.Detail) }
//
// It prints nothing and repairs nothing. It creates only what opening the store and identifying the
// project create.
package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/session"
)

// Check is one line of a report. State is ok, warn or fail.
type Check struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// Report is the result of all checks.
type Report struct {
	OK      bool        `json:"ok"`
	Version version.Doc `json:"version"`
	Checks  []Check     `json:"checks"`
}

// Options select what is checked.
type Options struct {
	Store string // the store's URL; if empty, the environment selects the store
	Cwd   string // the project's folder; if empty, the current folder
	Net   bool   // also check whether the models' servers answer
}

// examination is one run of the checks.
type examination struct {
	env *env.Env
	o   Options
}

// Examine checks this machine and the setup of an environment. Nil options are the zero options.
func Examine(ctx context.Context, e *env.Env, o *Options) *Report {
	x := &examination{env: e}
	if o != nil {
		x.o = *o
	}
	r := &Report{Version: version.Current()}
	r.Checks = slices.Concat(x.home(), x.store(ctx), []Check{x.project()}, x.settings(), x.programs(), x.models(ctx), x.sandboxChecks(ctx), x.engine(ctx))
	if x.o.Net {
		r.Checks = append(r.Checks, x.checkServers(ctx)...)
	}
	r.OK = r.Outcome() == outcome.OK
	return r
}

// Outcome returns the outcome of the command that prints the report. If the sandbox does not work,
// the outcome says so only if no other check failed.
func (r *Report) Outcome() outcome.Outcome {
	out := outcome.OK
	for _, k := range r.Checks {
		switch {
		case k.State != "fail":
		case k.Name != sandboxCheck:
			return outcome.Failed
		default:
			out = outcome.Sandbox
		}
	}
	return out
}

// failed returns a check that reports an error.
func failed(name string, err error) Check {
	return Check{name, "fail", err.Error(), outcome.Hint(err)}
}

func (x *examination) home() []Check {
	dir, err := x.env.Home()
	if err != nil {
		return []Check{failed("home", err)}
	}
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		if parent, perr := os.Stat(filepath.Dir(dir)); perr != nil || !parent.IsDir() {
			return []Check{{"home", "fail", dir + " cannot be created: its parent folder is missing", "mkdir -p " + term.Quote(filepath.Dir(dir))}}
		}
		if err := checkWritable(filepath.Dir(dir)); err != nil {
			return []Check{{"home", "fail", fmt.Sprintf("%s cannot be created: %v", dir, err), "set HOLDFAST_HOME to a folder that you can create"}}
		}
		return []Check{{"home", "ok", dir + " will be created when it is needed", ""}}
	case err != nil:
		return []Check{failed("home", err)}
	case !info.IsDir():
		return []Check{{"home", "fail", dir + " is not a folder", "set HOLDFAST_HOME to another folder"}}
	}
	if err := checkWritable(dir); err != nil {
		return []Check{{"home", "fail", fmt.Sprintf("%s is not writable: %v", dir, err), "make it writable for this user, or set HOLDFAST_HOME to a writable folder"}}
	}
	if m := info.Mode().Perm(); m&0o077 != 0 {
		return []Check{{"home", "warn", fmt.Sprintf("%s is accessible to other users (mode %04o)", dir, m), "chmod 700 " + term.Quote(dir)}}
	}
	out := []Check{{"home", "ok", dir + " (mode 0700)", ""}}
	for _, name := range []string{"sessions.db", "settings.json"} {
		f := filepath.Join(dir, name)
		if info, err := os.Stat(f); err == nil && info.Mode().Perm()&0o077 != 0 {
			out = append(out, Check{"home", "warn", fmt.Sprintf("%s is readable by other users (mode %04o)", f, info.Mode().Perm()), "chmod 600 " + term.Quote(f)})
		}
	}
	return out
}

// store opens the store, syncs a file next to it and checks the free space.
func (x *examination) store(ctx context.Context) []Check {
	ref, err := stores.Parse(x.env, x.o.Store)
	if err != nil {
		return []Check{failed("store", err)}
	}
	opened, err := stores.Open(ctx, x.env, x.o.Store, nil)
	if err != nil {
		return []Check{storeFailure(ref, err)}
	}
	defer opened.Close()
	page, err := opened.Sessions.List(ctx, session.Query{Worktrees: true, WithTrash: true})
	if err != nil {
		return []Check{failed("store", err)}
	}
	out := []Check{{"store", "ok", fmt.Sprintf("%s, %s", ref.Name, term.Count(len(page.Sessions), "session")), ""}}
	if ref.Scheme == "memory" {
		return append(out, Check{"store", "warn", "sessions are lost when the program ends", "use sqlite:PATH or file:FOLDER"})
	}
	if !ref.IsLocal() {
		return out
	}
	dir := ref.Folder()
	if took, err := syncTime(dir, x.env.Now); err != nil {
		out = append(out, Check{"fsync", "fail", err.Error(), "choose a store on a local disk with --store"})
	} else {
		out = append(out, Check{"fsync", "ok", fmt.Sprintf("%.2f ms for one write and fsync", float64(took.Microseconds())/1000), ""})
	}
	return append(out, spaceCheck(dir))
}

func (x *examination) project() Check {
	cwd, err := x.env.Folder(x.o.Cwd)
	if err != nil {
		return failed("project", err)
	}
	id, branch, err := project.ID(cwd)
	if err != nil {
		return failed("project", err)
	}
	if branch != "" {
		branch = ", branch " + branch
	}
	return Check{"project", "ok", fmt.Sprintf("%s is %s%s", cwd, id, branch), ""}
}

func (x *examination) programs() []Check {
	var out []Check
	if _, err := os.Stat("/bin/sh"); err != nil {
		out = append(out, Check{"shell", "fail", "/bin/sh is missing", "install a shell for the Bash tool"})
	} else if _, err := os.Stat("/bin/bash"); err != nil {
		out = append(out, Check{"shell", "ok", "/bin/sh (/bin/bash is missing)", ""})
	} else {
		out = append(out, Check{"shell", "ok", "/bin/bash", ""})
	}
	for _, tool := range [][2]string{
		{"rg", "optional; searches in large trees are faster with it"},
		{"git", "optional; projects are identified without it"},
	} {
		if path := x.env.LookPath(tool[0]); path != "" {
			out = append(out, Check{tool[0], "ok", path, ""})
		} else {
			out = append(out, Check{tool[0], "ok", "not found: " + tool[1], ""})
		}
	}
	if runtime.GOOS != "linux" {
		out = append(out, Check{"platform", "warn", runtime.GOOS + ": cannot check whether the process that has a session open is still running", ""})
	}
	return out
}
