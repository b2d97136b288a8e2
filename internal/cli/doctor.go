package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/session"
)

// doctorCmd is `holdfast doctor`.
type doctorCmd struct {
	Net bool
	CWD string
	storeFlags
	jsonFlag
}

func (c *doctorCmd) declare(b *builder) {
	b.flag(&c.Net, "net", "", "", "Also ask the model's server whether it answers.")
	b.flag(&c.CWD, "cwd", "", "FOLDER", "The folder to look at; default the current one.")
	b.include(&c.storeFlags)
	b.include(&c.jsonFlag)
}

// check is one line of the doctor's findings. State is ok, warn or fail.
type check struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

type doctorDoc struct {
	OK      bool        `json:"ok"`
	Version version.Doc `json:"version"`
	Checks  []check     `json:"checks"`
}

func (c *doctorCmd) run(ctx context.Context, p *Program) error {
	d, out := c.document(ctx, p)
	if c.JSON {
		if err := p.out.JSON(d, p.out.TTY); err != nil {
			return err
		}
	} else {
		c.tell(p, d)
	}
	return end(out)
}

// document is what the doctor finds, and how the command ends on it.
func (c *doctorCmd) document(ctx context.Context, p *Program) (doctorDoc, outcome.Outcome) {
	d := doctorDoc{OK: true, Version: version.Of()}
	add := func(checks ...check) { d.Checks = append(d.Checks, checks...) }
	add(c.home(p)...)
	add(c.store(ctx, p)...)
	add(c.project(p))
	add(c.programs(p)...)
	add(c.models(p)...)
	add(c.sandboxChecks(ctx, p)...)
	add(c.engine(ctx, p)...)
	if c.Net {
		add(c.reach(ctx, p)...)
	}
	out := outcome.OK
	for _, k := range d.Checks {
		switch {
		case k.State != "fail":
		case k.Name != sandboxCheck:
			out = outcome.Failed
		case out == outcome.OK:
			out = outcome.Sandbox
		}
	}
	d.OK = out == outcome.OK
	return d, out
}

func (c *doctorCmd) tell(p *Program, d doctorDoc) {
	t := p.out.Style
	p.out.Line("%s", t.Dim(fmt.Sprintf("holdfast %s, %s/%s, %s", d.Version.Version, d.Version.OS, d.Version.Arch, d.Version.Go)))
	for _, k := range d.Checks {
		word := t.Green("ok  ")
		switch k.State {
		case "warn":
			word = t.Yellow("warn")
		case "fail":
			word = t.Red("fail")
		}
		p.out.Line("%s  %s %s", word, term.Column(k.Name, 10), term.Escape(term.OneLine(k.Detail)))
		if k.Hint != "" {
			p.out.Line("                 hint: %s", term.Escape(term.OneLine(k.Hint)))
		}
	}
}

// failed is the finding for an error.
func failedCheck(name string, err error) check {
	return check{name, "fail", err.Error(), outcome.Hint(err)}
}

func (c *doctorCmd) home(p *Program) []check {
	dir, err := p.home()
	if err != nil {
		return []check{failedCheck("home", err)}
	}
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		if parent, perr := os.Stat(filepath.Dir(dir)); perr != nil || !parent.IsDir() {
			return []check{{"home", "fail", dir + " cannot be made: its parent is missing", "mkdir -p " + term.Quote(filepath.Dir(dir))}}
		}
		if err := writable(filepath.Dir(dir)); err != nil {
			return []check{{"home", "fail", fmt.Sprintf("%s cannot be made: %v", dir, err), "set HOLDFAST_HOME to a folder that you can make"}}
		}
		return []check{{"home", "ok", dir + " will be made when it is needed", ""}}
	case err != nil:
		return []check{failedCheck("home", err)}
	case !info.IsDir():
		return []check{{"home", "fail", dir + " is not a folder", "set HOLDFAST_HOME to another one"}}
	}
	if err := writable(dir); err != nil {
		return []check{{"home", "fail", fmt.Sprintf("%s cannot be written: %v", dir, err), "make it writable for this user, or set HOLDFAST_HOME to a folder that is"}}
	}
	if m := info.Mode().Perm(); m&0o077 != 0 {
		return []check{{"home", "warn", fmt.Sprintf("%s can be entered by others (mode %04o)", dir, m), "chmod 700 " + term.Quote(dir)}}
	}
	out := []check{{"home", "ok", dir + " (mode 0700)", ""}}
	for _, name := range []string{"sessions.db", "settings.json"} {
		f := filepath.Join(dir, name)
		if info, err := os.Stat(f); err == nil && info.Mode().Perm()&0o077 != 0 {
			out = append(out, check{"home", "warn", fmt.Sprintf("%s can be read by others (mode %04o)", f, info.Mode().Perm()), "chmod 600 " + term.Quote(f)})
		}
	}
	return out
}

// store opens the store, syncs a file beside it and looks at what room is left.
func (c *doctorCmd) store(ctx context.Context, p *Program) []check {
	ref, err := stores.Parse(p.environment(), c.Store)
	if err != nil {
		return []check{failedCheck("store", err)}
	}
	sessions, closeStore, err := p.openStore(ctx, c.Store)
	if err != nil {
		return []check{storeFailed(ref, err)}
	}
	defer closeStore()
	page, err := sessions.List(ctx, session.Query{Worktrees: true, Trash: session.TrashToo})
	if err != nil {
		return []check{failedCheck("store", err)}
	}
	out := []check{{"store", "ok", fmt.Sprintf("%s, %s", ref.Name, term.Count(len(page.Sessions), "session")), ""}}
	if ref.Scheme == "memory" {
		return append(out, check{"store", "warn", "nothing is kept when the program ends", "use sqlite:PATH or file:FOLDER"})
	}
	if !ref.IsLocal() {
		return out
	}
	dir := ref.Folder()
	if took, err := syncTime(dir, p.Now); err != nil {
		out = append(out, check{"fsync", "fail", err.Error(), "choose a store on a local disk: --store"})
	} else {
		out = append(out, check{"fsync", "ok", fmt.Sprintf("%.2f ms for one write and fsync", float64(took.Microseconds())/1000), ""})
	}
	return append(out, spaceCheck(dir))
}

func (c *doctorCmd) project(p *Program) check {
	cwd, err := p.folder(c.CWD)
	if err != nil {
		return failedCheck("project", err)
	}
	id, branch, err := session.ProjectID(cwd)
	if err != nil {
		return failedCheck("project", err)
	}
	if branch != "" {
		branch = ", branch " + branch
	}
	return check{"project", "ok", fmt.Sprintf("%s is %s%s", cwd, id, branch), ""}
}

func (c *doctorCmd) programs(p *Program) []check {
	var out []check
	if _, err := os.Stat("/bin/sh"); err != nil {
		out = append(out, check{"shell", "fail", "there is no /bin/sh", "the Bash tool needs a shell"})
	} else if _, err := os.Stat("/bin/bash"); err != nil {
		out = append(out, check{"shell", "ok", "/bin/sh (there is no /bin/bash)", ""})
	} else {
		out = append(out, check{"shell", "ok", "/bin/bash", ""})
	}
	for _, tool := range [][2]string{
		{"rg", "searches work without it; with it large trees are faster"},
		{"git", "not needed; projects are told apart without it"},
	} {
		if path := lookPath(p.env("PATH"), tool[0]); path != "" {
			out = append(out, check{tool[0], "ok", path, ""})
		} else {
			out = append(out, check{tool[0], "ok", "not found: " + tool[1], ""})
		}
	}
	if runtime.GOOS != "linux" {
		out = append(out, check{"platform", "warn", runtime.GOOS + ": whether a session's holder still lives cannot be told here", ""})
	}
	return out
}

func (c *doctorCmd) models(p *Program) []check {
	var out []check
	found := false
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"} {
		if p.env(name) != "" {
			out, found = append(out, check{"key", "ok", name + " is set", ""}), true
		} else {
			out = append(out, check{"key", "ok", name + " is not set", ""})
		}
	}
	switch m := p.env("HOLDFAST_MODEL"); {
	case m != "":
		if _, _, err := models.New(p.environment(), "HOLDFAST_MODEL", m, "", nil); err != nil {
			return append(out, failedCheck("model", err))
		}
		out = append(out, check{"model", "ok", "HOLDFAST_MODEL is " + m, ""})
	case !found:
		out = append(out, check{"model", "warn", "no key and no HOLDFAST_MODEL", "set a key, or use a local server: --model ollama/NAME; holdfast demo needs neither"})
	default:
		out = append(out, check{"model", "ok", "named for each run with --model", ""})
	}
	return out
}

// lookPath finds a program on the given PATH.
func lookPath(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if dir == "" || !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found
		}
	}
	return ""
}
