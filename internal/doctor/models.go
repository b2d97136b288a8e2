package doctor

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// models checks which keys are set, and the default model.
func (x *examination) models(ctx context.Context) []Check {
	rules, err := x.env.SettingsFor(x.o.Cwd)
	if err != nil {
		return []Check{failed("settings", err)}
	}
	keys := x.keys(rules)
	name := models.Default(x.env, rules)
	switch {
	case name != "":
		k := x.model(ctx, name, rules)
		if len(keys) == 0 && k.State == "ok" {
			keys = []Check{{"key", "ok", "no API key was found, and " + name + " needs none", ""}}
		}
		return append(orNoKey(keys), k)
	case len(keys) == 0:
		return append(orNoKey(keys), Check{"model", "warn", "no key and no model", "set up a key and a model: holdfast init; holdfast demo works without them"})
	}
	return append(keys, Check{"model", "ok", "no default model; name one for each run with --model", ""})
}

// orNoKey returns the checks in keys, or a warning if there are none.
func orNoKey(keys []Check) []Check {
	if len(keys) == 0 {
		return []Check{{"key", "warn", "no API key was found, so no hosted model can be used", ""}}
	}
	return keys
}

// keys returns a check for each API key that is in the environment, stored by holdfast login, or
// named by the settings.
func (x *examination) keys(rules *settings.Settings) (list []Check) {
	for _, name := range rules.Models.ProviderNames() {
		variable := models.KeyVariable(name, rules)
		switch {
		case variable != "" && x.env.Lookup(variable) != "":
			list = append(list, Check{"key", "ok", variable + " is set", ""})
		case models.HasStoredKey(x.env, name, rules):
			list = append(list, Check{"key", "ok", name + ": a key is stored", ""})
		}
	}
	return list
}

// model checks one model: whether its provider is known and has the key that it needs.
func (x *examination) model(ctx context.Context, name string, rules *settings.Settings) Check {
	source := "HOLDFAST_MODEL"
	if x.env.Lookup(source) == "" {
		source = settings.OriginText(rules.Models.Model.Origin)
	}
	if _, err := models.New(ctx, x.env, source, name, "", rules); err != nil {
		return Check{"model", "fail", err.Error(), outcome.Hint(err)}
	}
	return Check{"model", "ok", name + " (" + source + ")", ""}
}

// servers returns the base URLs of the providers that are set up.
func (x *examination) servers() (list []string) {
	rules, err := x.env.SettingsFor(x.o.Cwd)
	if err != nil {
		return nil
	}
	used := models.Provider(models.Default(x.env, rules))
	for _, name := range rules.Models.ProviderNames() {
		known, _ := providers.Lookup(name)
		variable := models.KeyVariable(name, rules)
		_, configured := rules.Models.Providers[name]
		if name != used && !configured && (variable == "" || x.env.Lookup(variable) == "") && (known.BaseEnv == "" || x.env.Lookup(known.BaseEnv) == "") {
			continue
		}
		if at, err := models.EndpointOf(x.env, name, rules); err == nil {
			list = append(list, at.BaseURL)
		}
	}
	return list
}
