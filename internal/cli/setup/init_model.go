package setup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/model"
)

// pageSize is the number of models in a list.
const pageSize = 12

// model is the second step: the provider, its key, and one of its models.
func (w *wizard) model(ctx context.Context) error {
	name := w.c.Model
	if name == "" {
		if w.terminal == nil {
			w.doc.Model = models.Default(w.p.Environment(), w.rules)
			return nil
		}
		w.heading(2, "Model: which provider?")
		provider, err := w.provider(ctx)
		if err != nil {
			return err
		}
		if err := w.key(ctx, provider); err != nil {
			return err
		}
		if name, err = w.pickModel(ctx, provider); err != nil {
			return err
		}
	} else if err := w.checkModel(ctx, name); err != nil {
		return err
	}
	w.doc.Model = name
	if err := w.write(name, "model"); err != nil {
		return err
	}
	if other := w.p.Getenv("HOLDFAST_MODEL"); other != "" && other != name {
		w.p.Warn("HOLDFAST_MODEL (%s) overrides this", other)
	}
	return nil
}

// checkModel rejects a model that cannot be used: its provider is unknown, has no key, or does not
// have the model.
func (w *wizard) checkModel(ctx context.Context, name string) error {
	e := w.p.Environment()
	m, err := models.New(ctx, e, "--model", name, "", w.rules)
	if err != nil || w.c.NoCheck || models.Provider(name) == "scripted" {
		return err
	}
	at, err := models.Resolve(ctx, e, models.Provider(name), "", w.rules)
	if err != nil {
		return err
	}
	list, err := at.List(ctx, e, w.rules)
	if err != nil {
		return &outcome.Failure{
			Message: fmt.Sprintf("cannot list the models of %s: %v", at.Provider, err), Cause: err, Result: outcome.FromError(err),
			Advice: strings.TrimPrefix(outcome.Hint(err)+"; or skip the check with --no-check", "; or "),
		}
	}
	if !slices.ContainsFunc(list, func(i model.Info) bool { return i.Model == m.Info().Model }) {
		return outcome.Invalid(fmt.Sprintf("%s has no model %s", at.Provider, m.Info().Model), "list its models: holdfast models "+at.Provider+"; or skip the check with --no-check")
	}
	return nil
}

// provider asks for the provider. The default is the current provider, or else one that already has
// a key, or else one that runs on this machine.
func (w *wizard) provider(ctx context.Context) (string, error) {
	e := w.p.Environment()
	var list []option
	set, rank := 0, 0
	used := models.Provider(models.Default(e, w.rules))
	for _, name := range w.rules.Models.ProviderNames() {
		at, err := models.EndpointOf(e, name, w.rules)
		if err != nil {
			return "", err
		}
		known, _ := providers.Lookup(name)
		about, good := "", 0
		switch {
		case known.Local && isListening(ctx, at.BaseURL):
			about, good = "runs on this machine", 1
		case known.Local:
			about = "on this machine, not running: " + known.Start
		case at.KeySource == "login":
			about, good = "key is stored", 2
		case at.KeySource != "none":
			about, good = "key found: "+at.KeySource, 2
		case known.Name == "":
			about, good = at.BaseURL, 1
		default:
			about = "needs a key"
		}
		if name == used {
			about, good = about+"; your current provider", 3
		}
		if good > rank {
			set, rank = len(list), good
		}
		list = append(list, option{name, about})
	}
	i, err := w.choose(ctx, "provider", list, set)
	return list[i].name, err
}

// isListening reports whether a program accepts connections at an address of this machine.
func isListening(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	d := net.Dialer{Timeout: 300 * time.Millisecond}
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// key asks for the key of a provider that needs one and has none. It checks the key and stores it.
func (w *wizard) key(ctx context.Context, provider string) error {
	known, ok := providers.Lookup(provider)
	at, err := models.EndpointOf(w.p.Environment(), provider, w.rules)
	if err != nil || at.KeySource != "none" || !ok || known.Local {
		return err
	}
	if err := CheckTakesKey(w.p, provider, w.rules); err != nil {
		return err
	}
	for {
		key, err := ReadKey(ctx, w.p, provider)
		if err != nil {
			return err
		}
		err = CheckKey(ctx, w.p, provider, key, w.rules)
		if err != nil && outcome.FromError(err) == outcome.Denied {
			w.p.Err.Error(err.Error(), "copy the whole key again from "+known.KeyPage)
			continue
		}
		if err != nil {
			w.p.Err.Error(err.Error(), "")
			yes, asked := w.terminal.Yes(ctx, "store it without checking it?")
			if asked != nil || !yes {
				return errors.Join(asked, err)
			}
		}
		_, err = StoreKey(w.p, provider, key, false)
		return err
	}
}

// pickModel asks for a model of a provider, by its number, its name or a part of it.
func (w *wizard) pickModel(ctx context.Context, provider string) (string, error) {
	names := w.models(ctx, provider)
	known, _ := providers.Lookup(provider)
	set := known.Example
	if len(names) > 0 && !slices.Contains(names, set) {
		set = names[0]
	}
	if now := models.Default(w.p.Environment(), w.rules); models.Provider(now) == provider {
		set = strings.TrimPrefix(now, provider+"/")
	}
	list := chatModels(names)
	for {
		for i, name := range list[:min(len(list), pageSize)] {
			w.print("  %2d  %s", i+1, term.Escape(name))
		}
		if more := len(list) - pageSize; more > 0 {
			w.print("      and %d more: type part of a name", more)
		}
		answer, err := w.readLine(ctx, fmt.Sprintf("model [%s]: ", set))
		switch {
		case err != nil:
			return "", err
		case answer == "" && set != "":
			return provider + "/" + set, nil
		case answer == "":
			continue
		}
		answer = strings.TrimPrefix(answer, provider+"/")
		if n := parseChoice(answer, min(len(list), pageSize)); n > 0 {
			return provider + "/" + list[n-1], nil
		}
		if len(names) == 0 || slices.Contains(names, answer) {
			return provider + "/" + answer, nil
		}
		var fits []string
		for _, name := range names {
			if strings.Contains(strings.ToLower(name), strings.ToLower(answer)) {
				fits = append(fits, name)
			}
		}
		switch len(fits) {
		case 0:
			w.print("%s has no model %s", provider, term.Escape(answer))
		case 1:
			return provider + "/" + fits[0], nil
		default:
			list = fits
		}
	}
}

// parseChoice parses the number of a choice; it returns 0 for any other text.
func parseChoice(text string, most int) int {
	n := 0
	for _, c := range []byte(text) {
		if c < '0' || c > '9' || n > most {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	if n > most {
		return 0
	}
	return n
}

// models returns the models of a provider. If they cannot be listed, it prints a message and
// returns no models.
func (w *wizard) models(ctx context.Context, provider string) (names []string) {
	e := w.p.Environment()
	at, err := models.Resolve(ctx, e, provider, "", w.rules)
	if err == nil {
		var list []model.Info
		list, err = at.List(ctx, e, w.rules)
		for i := range list {
			names = append(names, list[i].Model)
		}
	}
	if err != nil {
		what, hint, _ := strings.Cut(err.Error(), "; hint: ")
		if hint == "" {
			hint = outcome.Hint(err)
		}
		w.p.Err.Error("cannot list the models of "+provider+": "+what, hint)
	}
	return names
}

// nonChatNames has the parts of names that show that a model is not for chat.
var nonChatNames = []string{"embed", "whisper", "tts", "image", "moderation", "dall-e", "transcribe", "realtime", "sora", "rerank", "guard"}

// chatModels returns the models that are for chat, judged by their names: it omits each model whose
// name has a part in nonChatNames.
func chatModels(names []string) (list []string) {
	for _, name := range names {
		if !slices.ContainsFunc(nonChatNames, func(part string) bool { return strings.Contains(name, part) }) {
			list = append(list, name)
		}
	}
	return list
}
