package setup

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/model"
)

// providerDoc is a provider in a list.
type providerDoc struct {
	Name    string `json:"name"`
	API     string `json:"api"`
	BaseURL string `json:"base_url"`
	Key     string `json:"key"`               // source of the key: the name of its variable, keyring, command, login, or none
	KeyEnv  string `json:"key_env,omitempty"` // the variable that can contain the key
	Default string `json:"default,omitempty"` // the default model for runs, if it is from this provider
	Problem string `json:"problem,omitempty"` // why the key cannot be read
}

// modelDoc is a model in a list.
type modelDoc struct {
	Model   string   `json:"model"` // as in --model
	Context int      `json:"context,omitempty"`
	Input   *float64 `json:"input,omitempty"` // US dollars per million tokens
	Output  *float64 `json:"output,omitempty"`
}

func (c *modelsCmd) Run(ctx context.Context, p *command.Program) error {
	rules, err := p.FolderSettings("")
	if err != nil {
		return err
	}
	if c.Provider == "" {
		return c.providers(p, rules)
	}
	e := p.Environment()
	at, err := models.Resolve(ctx, e, c.Provider, c.BaseURL, rules)
	if err != nil {
		return err
	}
	list, err := at.List(ctx, e, rules)
	if err != nil {
		return err
	}
	docs, rows := []modelDoc{}, [][]string{}
	for i := range list {
		d := modelDoc{Model: c.Provider + "/" + list[i].Model, Context: list[i].Context}
		row := []string{d.Model, "", ""}
		if d.Context > 0 {
			row[1] = strconv.Itoa(d.Context)
		}
		if price := list[i].Price; price != nil {
			d.Input, d.Output, row[2] = &price.Input, &price.Output, priceOf(price)
		}
		docs, rows = append(docs, d), append(rows, row)
	}
	if c.JSON {
		return p.Out.JSON(docs, p.Out.TTY)
	}
	if len(rows) == 0 {
		p.Err.Line("%s offers no models", c.Provider)
		return nil
	}
	p.Out.Table(append([][]string{{"MODEL", "CONTEXT", "USD PER MILLION TOKENS"}}, rows...))
	return nil
}

// priceOf formats a price.
func priceOf(price *model.Price) string {
	if *price == (model.Price{}) {
		return "free"
	}
	return fmt.Sprintf("%s in, %s out", strconv.FormatFloat(price.Input, 'g', 4, 64), strconv.FormatFloat(price.Output, 'g', 4, 64))
}

// providers lists the providers, and the source of the key of each.
func (c *modelsCmd) providers(p *command.Program, rules *settings.Settings) error {
	e := p.Environment()
	used := models.Default(e, rules)
	docs := []providerDoc{}
	rows := [][]string{{"PROVIDER", "KEY", "BASE URL"}}
	for _, name := range rules.Models.ProviderNames() {
		at, err := models.EndpointOf(e, name, rules)
		if err != nil {
			return err
		}
		d := providerDoc{Name: name, API: at.API, BaseURL: at.BaseURL, Key: at.KeySource, KeyEnv: models.KeyVariable(name, rules)}
		key := d.Key
		switch {
		case d.Key == "none" && d.KeyEnv != "":
			key = "none (" + d.KeyEnv + ")"
		case d.Key == "none":
			key = "not needed"
		}
		if models.Provider(used) == name {
			d.Default = used
			key += ", your default model"
		}
		docs, rows = append(docs, d), append(rows, []string{name, key, d.BaseURL})
	}
	if c.JSON {
		return p.Out.JSON(docs, p.Out.TTY)
	}
	for _, row := range rows[1:] {
		for i := range row {
			row[i] = term.Escape(row[i])
		}
	}
	p.Out.Table(rows)
	if used == "" {
		p.Err.Hint("choose a default model: holdfast init")
	}
	return nil
}
