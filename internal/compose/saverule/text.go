// Package saverule saves a permanent approval as a rule in a settings file.
//
//	approval request + answer ─► Plan ─► settings.json of a layer ─► file and line
//
// It neither requests approval nor checks who made the decision: the caller ensures that it was the
// user.
package saverule

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// Result is the result of adding a text to, or removing it from, a list in a settings file.
type Result struct {
	Layer   string `json:"layer"`
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // the line of the text; 0 if it was removed
	Changed bool   `json:"changed"`
	Counts  bool   `json:"counts"` // true if the setting takes effect from the next run on
}

// NotTrusted is the reason why a saved setting is not applied.
const NotTrusted = "saved, but not applied yet: the settings of this folder are not trusted; review them, then: holdfast trust"

// AddText adds a text to a list in the settings of a layer (one of [Layers]), for runs in the target.
func AddText(e *env.Env, p Target, layer string, list []string, text string) (Result, error) {
	w := Result{Layer: layer}
	home, err := e.Home()
	if err != nil {
		return w, err
	}
	if w.File, err = p.File(e, layer); err != nil {
		return w, err
	}
	before, err := e.SettingsFor(p.Folder)
	if err != nil {
		return w, err
	}
	err = quarantine.Open(home).MarkOwn(w.File, func() error {
		w.Line, w.Changed, err = settings.AddText(layer, w.File, list, text)
		return err
	})
	if err != nil {
		return w, err
	}
	s, err := Reload(e, p.Folder, before, w.File)
	if err != nil {
		return w, err
	}
	w.Counts = !slices.ContainsFunc(s.Layers, func(l settings.Layer) bool { return l.File == w.File && l.Untrusted })
	return w, nil
}

// Reload reloads the settings of a folder after the user changed one of its files; before are the
// previous settings. If the previous settings were trusted, or there were none, the new ones are
// trusted without asking the user: see [settings.Trust.Update].
func Reload(e *env.Env, folder string, before *settings.Settings, file string) (*settings.Settings, error) {
	s, err := e.SettingsFor(folder)
	if err != nil {
		return nil, err
	}
	list, err := e.Trust()
	if err != nil {
		return nil, err
	}
	if ok, err := list.Update(before, s, file, e.Now()); err != nil || !ok {
		return s, err
	}
	return e.SettingsFor(folder)
}

// Location describes the position for the user: who it applies to, the file and the line.
func (w *Result) Location() string {
	of := map[string]string{layernames.User: "for you, in every project", layernames.Project: "in this project, for all", layernames.Local: "in this project, for you"}
	if w.Line == 0 {
		return fmt.Sprintf("%s: %s", of[w.Layer], w.File)
	}
	return fmt.Sprintf("%s: %s:%d", of[w.Layer], w.File, w.Line)
}

// Rule is the result of saving a rule or removing it.
type Rule struct {
	Rule    string          `json:"rule"`
	Effects []policy.Effect `json:"effects"`
	Result
}

// WriteRule saves a rule in the settings of a layer, for runs in the target.
func WriteRule(e *env.Env, p Target, layer string, effect policy.Effect, rule string) (*Rule, error) {
	w, err := AddText(e, p, layer, settings.RuleList(effect), rule)
	w.Counts = w.Counts || effect != policy.Allow // deny and ask rules need no trust
	return &Rule{rule, []policy.Effect{effect}, w}, err
}

// String returns a sentence with the file and the line.
func (k *Rule) String() string {
	is := map[policy.Effect]string{policy.Allow: "allowed", policy.Ask: "set to ask", policy.Deny: "denied"}
	states := ""
	for i, e := range k.Effects {
		if i > 0 {
			states += " or "
		}
		states += is[e]
	}
	verb := "is"
	switch {
	case k.Line == 0:
		verb = "is no longer"
	case !k.Changed:
		verb = "was already"
	}
	return fmt.Sprintf("%s %s %s %s", k.Rule, verb, states, k.Location())
}

// WritePath saves a path that sandboxed commands may write.
func WritePath(e *env.Env, p Target, layer, tree string) (Result, error) {
	return AddText(e, p, layer, settings.WritePaths, PathEntry(e, p, tree))
}

// PathEntry returns a path in the form that settings contain. A path below the home folder becomes
// "~/…", so that it works for every user of the project.
func PathEntry(e *env.Env, p Target, path string) string {
	if rel, err := filepath.Rel(e.UserHome(), path); !p.Inside && e.UserHome() != "" && err == nil && filepath.IsLocal(rel) && rel != "." {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}

// pathText describes the result of WritePath.
func pathText(tree string, w *Result) string {
	return "commands may write " + tree + " " + w.Location()
}

// SetText sets a text in the user's settings, at a path of keys.
func SetText(e *env.Env, path []string, text string) (Result, error) {
	w := Result{Layer: layernames.User, Counts: true}
	home, err := e.Home()
	if err != nil {
		return w, err
	}
	w.File = settings.LayerFile(layernames.User, "", home)
	err = quarantine.Open(home).MarkOwn(w.File, func() error {
		w.Line, w.Changed, err = settings.SetText(w.Layer, w.File, path, text)
		return err
	})
	return w, err
}
