package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/doctor"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// wizard is one run of `holdfast init`.
type wizard struct {
	c        *initCmd
	p        *command.Program
	terminal *term.Prompter // nil: ask nothing
	rules    *settings.Settings
	file     string // the user's settings
	doc      initDoc
}

// initDoc is the output of `holdfast init --json`.
type initDoc struct {
	Settings string             `json:"settings"`
	Mode     string             `json:"permission_mode,omitempty"`
	Model    string             `json:"model,omitempty"`
	Project  *projectDoc        `json:"project,omitempty"`
	Imported *settings.Imported `json:"imported,omitempty"`
	Checks   []doctor.Check     `json:"checks"` // the checks whose state is not ok
	OK       bool               `json:"ok"`
}

func (c *initCmd) Run(ctx context.Context, p *command.Program) error {
	if err := dial.RefuseInsideRun(p, "change your settings"); err != nil {
		return err
	}
	w := &wizard{c: c, p: p}
	if !c.Yes && !c.JSON {
		w.terminal = p.Terminal.Ask()
	}
	switch {
	case w.terminal != nil:
		defer w.terminal.Close()
	case !c.Yes:
		return outcome.Invalid("init needs a terminal for its questions", "use flags instead: holdfast init --yes --model PROVIDER/MODEL")
	}
	home, err := p.Home()
	if err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	w.file = settings.LayerFile(layernames.User, w.rules.Project, home)
	w.doc.Settings = w.file
	for _, step := range []func(context.Context) error{w.mode, w.model, w.project, w.imports} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return w.finish(ctx)
}

// load loads the current settings.
func (w *wizard) load() (err error) {
	w.rules, err = w.p.FolderSettings("")
	return err
}

// print prints to the terminal, or does nothing if there is none.
func (w *wizard) print(format string, args ...any) {
	if w.terminal != nil {
		w.terminal.Out.Line(format, args...)
	}
}

// heading starts a step.
func (w *wizard) heading(n int, text string) {
	if w.terminal != nil {
		w.terminal.Out.Line("")
		w.terminal.Out.Line("%s  %s", w.terminal.Out.Dim(fmt.Sprintf("%d of 3", n)), w.terminal.Out.Bold(text))
	}
}

// option is one of the answers that the user can choose.
type option struct{ name, about string }

// choose asks the user to choose one of several answers. If the user presses Enter, the current
// answer is kept.
func (w *wizard) choose(ctx context.Context, question string, list []option, set int) (int, error) {
	wide := 0
	for _, o := range list {
		wide = max(wide, len(o.name))
	}
	for i, o := range list {
		w.print("  %2d  %s  %s", i+1, term.Column(o.name, wide), w.terminal.Out.Dim(term.Escape(o.about)))
	}
	for {
		answer, err := w.readLine(ctx, fmt.Sprintf("%s [%s]: ", question, list[set].name))
		if err != nil || answer == "" {
			return set, err
		}
		if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(list) {
			return n - 1, nil
		}
		if i := slices.IndexFunc(list, func(o option) bool { return strings.EqualFold(o.name, answer) }); i >= 0 {
			return i, nil
		}
		w.print("type a number from 1 to %d, or a name", len(list))
	}
}

// readLine asks for a line.
func (w *wizard) readLine(ctx context.Context, text string) (string, error) {
	w.terminal.Flush()
	line, ok, err := w.terminal.Prompt(ctx, text)
	if err == nil && !ok {
		err = outcome.Invalid("setup is incomplete", "your answers so far are saved; run holdfast init again")
	}
	return strings.TrimSpace(line), err
}

// write sets a value in the user's settings and prints the file and line of that value.
func (w *wizard) write(value string, path ...string) error {
	if _, err := os.Lstat(w.file); errors.Is(err, fs.ErrNotExist) { // Holdfast's own file gets "$schema", so that editors know its keys
		if _, _, err := settings.SetText(layernames.User, w.file, []string{"$schema"}, settings.SchemaID); err != nil {
			return err
		}
	}
	line, changed, err := settings.SetText(layernames.User, w.file, path, value)
	if err != nil {
		return err
	}
	if changed {
		w.p.Err.Line("%s %s: %s:%d", strings.Join(path, "."), term.Escape(value), term.Escape(w.file), line)
	}
	return w.load()
}

// modes are the permission modes that init offers.
var modes = []option{
	{string(policy.ModeDefault), "asks before it changes a file or runs a command"},
	{string(policy.ModeAcceptEdits), "changes files of the project, asks before it runs a command"},
	{string(policy.ModeAuto), "works without asking in the sandbox; dangerous calls are denied"},
	{string(policy.ModePlan), "reads and plans, changes nothing until you approve the plan"},
}

// mode is the first step: what an agent may do without asking.
func (w *wizard) mode(ctx context.Context) error {
	chosen := w.c.Mode
	if chosen == "" && w.terminal != nil {
		w.heading(1, "Permissions: what may an agent do without asking you?")
		list, set := modes, 0
		if now := string(w.rules.Mode.Value); now != "" {
			if set = slices.IndexFunc(list, func(o option) bool { return o.name == now }); set < 0 {
				list, set = append([]option{{now, "as " + settings.OriginText(w.rules.Mode.Origin) + " says"}}, list...), 0
			}
		}
		i, err := w.choose(ctx, "mode", list, set)
		if err != nil {
			return err
		}
		if chosen = list[i].name; w.rules.Mode.Value == policy.Mode(chosen) {
			w.doc.Mode = chosen
			return nil
		}
	}
	if chosen == "" {
		return nil
	}
	if err := policy.Mode(chosen).Check(); err != nil {
		return outcome.Invalid("--permission-mode: "+err.Error(), "")
	}
	w.doc.Mode = chosen
	return w.write(chosen, "permissions", "defaultMode")
}

// imports offers to import the user's settings of other agents.
func (w *wizard) imports(ctx context.Context) error {
	o, err := w.p.SettingsOptions(w.rules.Cwd(), nil)
	if err != nil {
		return err
	}
	take := &settings.ImportOptions{Options: o, Layer: layernames.User, DryRun: true}
	found, err := settings.Import(take)
	if err != nil {
		w.p.Warn("cannot import settings of other agents: %v", err)
		return nil
	}
	if len(found.Imported) == 0 {
		return nil
	}
	if !w.c.Import {
		if w.terminal == nil {
			return nil
		}
		w.print("")
		w.print("%s: %d of these settings can be imported, %d have no equivalent (%s)", term.Escape(strings.Join(found.Read, ", ")), len(found.Imported), len(found.Unsupported),
			"holdfast settings import --dry-run lists them")
		yes, err := w.terminal.Yes(ctx, "import them?")
		if err != nil || !yes {
			return err
		}
	}
	take.DryRun = false
	if w.doc.Imported, err = settings.Import(take); err != nil {
		return err
	}
	w.p.Err.Line("imported %d settings into %s", len(w.doc.Imported.Imported), term.Escape(w.doc.Imported.File))
	return w.load()
}

// finish checks the setup and prints the next command.
func (w *wizard) finish(ctx context.Context) error {
	r := doctor.Examine(ctx, w.p.Environment(), nil)
	w.doc.OK, w.doc.Checks = r.OK, []doctor.Check{}
	for _, k := range r.Checks {
		if k.State != "ok" {
			w.doc.Checks = append(w.doc.Checks, k)
		}
	}
	if w.c.JSON {
		if err := w.p.Out.JSON(w.doc, w.p.Out.TTY); err != nil {
			return err
		}
		return command.End(r.Outcome())
	}
	pr := w.p.Err
	pr.Line("")
	for _, k := range w.doc.Checks {
		word := pr.Yellow("warn")
		if k.State == "fail" {
			word = pr.Red("fail")
		}
		pr.Line("%s  %s %s", word, term.Column(k.Name, 10), term.Escape(term.OneLine(k.Detail)))
		if k.Hint != "" {
			pr.Line("                 hint: %s", term.Escape(term.OneLine(k.Hint)))
		}
	}
	pr.Line("%d of %d checks are ok (holdfast doctor)", len(r.Checks)-len(w.doc.Checks), len(r.Checks))
	if r.OK && w.doc.Model != "" {
		pr.Line("next: holdfast run %s", term.Quote("what does this project do?"))
	}
	return command.End(r.Outcome())
}
