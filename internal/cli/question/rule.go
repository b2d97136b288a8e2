package question

import (
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// KeptRule says what became of a rule in a settings file.
type KeptRule struct {
	Rule    string          `json:"rule"`
	Effects []policy.Effect `json:"effects"`
	command.Written
}

// Keep writes a rule into the settings of a layer (layernames.Local, Project or User), for runs in
// folder; "" is the current one.
func Keep(p *command.Program, folder, layer string, effect policy.Effect, rule string) (*KeptRule, error) {
	w, err := p.WriteSetting(folder, layer, settings.RuleList(effect), rule)
	w.Counts = w.Counts || effect != policy.Allow // nobody has to be trusted to forbid or to ask
	return &KeptRule{rule, []policy.Effect{effect}, w}, err
}

// String is a sentence that names the file and the line.
func (k *KeptRule) String() string {
	is := map[policy.Effect]string{policy.Allow: "allowed", policy.Ask: "asked about", policy.Deny: "denied"}
	var words []string
	for _, e := range k.Effects {
		words = append(words, is[e])
	}
	verb := "is"
	switch {
	case k.Line == 0:
		verb = "is no longer"
	case !k.Changed:
		verb = "was there already:"
	}
	return fmt.Sprintf("%s %s %s %s", k.Rule, verb, strings.Join(words, " or "), k.Place())
}

// KeepRules lets the person keep a rule, or what is opened in the sandbox, for good, for runs in a folder.
func (a *Asker) KeepRules(p *command.Program, folder string) {
	a.open = func(layer, tree string) (command.Written, error) {
		return p.WriteSetting(folder, layer, settings.WritePaths, p.PathEntry(tree))
	}
	a.reach = func(layer, host string) (command.Written, error) {
		return p.WriteSetting(folder, layer, settings.AllowedDomains, host)
	}
	a.keep = func(layer, rule string) (*KeptRule, error) { return Keep(p, folder, layer, policy.Allow, rule) }
}
