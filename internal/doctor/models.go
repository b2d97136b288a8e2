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
		return append(keys, x.model(ctx, name, rules))
	case len(keys) == 1 && keys[0].Detail == noKeys:
		return append(keys, Check{"model", "warn", "no key and no model", "run holdfast init to set them up; holdfast demo needs neither"})
	}
	return append(keys, Check{"model", "ok", "no default model; name one for each run with --model", ""})
}

const noKeys = "no environment variable with a provider's key is set"

// keys checks the keys in the environment.
func (x *examination) keys(rules *settings.Settings) (list []Check) {
	for _, name := range rules.Models.ProviderNames() {
		if variable := models.KeyVariable(name, rules); variable != "" && x.env.Lookup(variable) != "" {
			list = append(list, Check{"key", "ok", variable + " is set", ""})
		}
	}
	if len(list) == 0 {
		return []Check{{"key", "ok", noKeys, ""}}
	}
	return list
}

// model checks one model: whether its provider is known and has the key that it needs.
func (x *examination) model(ctx context.Context, name string, rules *settings.Settings) Check {
	said := "HOLDFAST_MODEL"
	if x.env.Lookup(said) == "" {
		said = settings.OriginText(rules.Models.Model.Origin)
	}
	if _, err := models.New(ctx, x.env, said, name, "", rules); err != nil {
		return Check{"model", "fail", err.Error(), outcome.Hint(err)}
	}
	return Check{"model", "ok", name + " (" + said + ")", ""}
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
		_, said := rules.Models.Providers[name]
		if name != used && !said && (variable == "" || x.env.Lookup(variable) == "") && (known.BaseEnv == "" || x.env.Lookup(known.BaseEnv) == "") {
			continue
		}
		if at, err := models.EndpointOf(x.env, name, rules); err == nil {
			list = append(list, at.BaseURL)
		}
	}
	return list
}
