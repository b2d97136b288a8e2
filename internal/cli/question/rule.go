package question

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// KeptRule says what became of a rule in a settings file.
type KeptRule struct {
	Rule    string          `json:"rule"`
	Effects []policy.Effect `json:"effects"`
	Layer   string          `json:"layer"`
	File    string          `json:"file"`
	Line    int             `json:"line,omitempty"` // where it stands; 0 when it was taken out
	Changed bool            `json:"changed"`
	Counts  bool            `json:"counts"` // from the next run on
}

// NotTrusted is why a rule that was kept does not count.
const NotTrusted = "it does not count yet: other settings of this folder are not trusted; look at them and run: holdfast trust"

// Keep writes a rule into the settings of a layer (layernames.Local, Project or User), for runs in
// folder; "" is the current one.
func Keep(p *command.Program, folder, layer string, effect policy.Effect, rule string) (*KeptRule, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	before, err := p.FolderSettings(folder)
	if err != nil {
		return nil, err
	}
	k := &KeptRule{Rule: rule, Effects: []policy.Effect{effect}, Layer: layer, File: settings.RuleFile(layer, before.Project, home)}
	if k.Line, k.Changed, err = settings.AddRule(layer, k.File, effect, rule); err != nil {
		return nil, err
	}
	s, err := p.Settled(folder, before)
	if err != nil {
		return nil, err
	}
	untrusted := slices.ContainsFunc(s.Layers, func(l settings.Layer) bool { return l.File == k.File && l.Untrusted })
	k.Counts = !untrusted || effect != policy.Allow
	return k, nil
}

// String is a sentence that names the file and the line.
func (k *KeptRule) String() string {
	is := map[policy.Effect]string{policy.Allow: "allowed", policy.Ask: "asked about", policy.Deny: "denied"}
	of := map[string]string{layernames.User: "for you, in every project", layernames.Project: "in this project, for all", layernames.Local: "in this project, for you"}
	var words []string
	for _, e := range k.Effects {
		words = append(words, is[e])
	}
	how, place := strings.Join(words, " or "), fmt.Sprintf("%s: %s", of[k.Layer], k.File)
	switch {
	case k.Line == 0:
		return fmt.Sprintf("%s is no longer %s %s", k.Rule, how, place)
	case !k.Changed:
		return fmt.Sprintf("%s was there already: %s %s:%d", k.Rule, how, place, k.Line)
	}
	return fmt.Sprintf("%s is %s %s:%d", k.Rule, how, place, k.Line)
}

// KeepRules lets the person keep a rule for good, for runs in a folder.
func (a *Asker) KeepRules(p *command.Program, folder string) {
	a.keep = func(layer, rule string) (*KeptRule, error) { return Keep(p, folder, layer, policy.Allow, rule) }
}
