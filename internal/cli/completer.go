package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/shortid"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// completer returns the completions of a word.
type completer struct{ p *command.Program }

// workspaces returns the names of the workspaces, with their projects. Completion cannot report errors, so they are
// ignored.
func (c completer) workspaces(ctx context.Context) (words []string) {
	_ = command.WithWorkspaces(c.p, func(w *workspace.Workspaces) error {
		list, err := w.List(ctx)
		for _, l := range list {
			about := "broken"
			if l.Err == nil {
				about = cmp.Or(l.Settings.Project, "own folder")
			}
			words = append(words, described(l.Slug, about))
		}
		return err
	})
	return words
}

// sessions returns the ids of sessions that begin with typed, newest first, with their titles. It does
// not create a store, and it does not query a store on another machine.
func (c completer) sessions(ctx context.Context, typed, store string, shorten bool) (words []string) {
	const most = 50
	c.withStore(ctx, store, func(s *session.Sessions) {
		page, err := s.List(ctx, session.Query{Worktrees: true})
		if err != nil {
			return
		}
		short := func(id string) string { return id }
		if shorten {
			short = command.ShortIDsOf(page.Sessions)
		}
		for _, m := range page.Sessions {
			if word := idWord(m.ID, short(m.ID), typed); word != "" && m.Owner == "" && len(words) < most {
				words = append(words, described(word, cmp.Or(m.Title, m.FirstPrompt)))
			}
		}
	})
	return words
}

// approvals returns the pending approvals.
func (c completer) approvals(ctx context.Context, typed, store string) (words []string) {
	c.withStore(ctx, store, func(s *session.Sessions) {
		open, err := approval.Pending(ctx, s, "")
		if err != nil {
			return
		}
		var ids []string
		for _, q := range open {
			ids = append(ids, q.ID)
		}
		short := shortid.Of(ids, nil)
		for _, q := range open {
			if word := idWord(q.ID, short[q.ID], typed); word != "" {
				words = append(words, described(word, q.Tool+" "+question.Subject(q)))
			}
		}
	})
	return words
}

// idWord returns the form of an id that begins with typed, because a shell drops other words: the
// short form, which lists show too, or the id. It is "" if there is none. A short form that saves
// little is not worth it: a person has chosen such an id.
func idWord(id, short, typed string) string {
	const long = 16
	switch {
	case len(id) > long && strings.HasPrefix(short, typed):
		return short
	case strings.HasPrefix(id, typed):
		return id
	}
	return ""
}

// withStore opens the store on the command line, if it exists.
func (c completer) withStore(ctx context.Context, url string, use func(*session.Sessions)) {
	ref, err := stores.Parse(c.p.Environment(), url)
	if err != nil || !ref.IsLocal() {
		return
	}
	if _, err := os.Stat(strings.TrimPrefix(ref.URL, ref.Scheme+":")); err != nil {
		return
	}
	sessions, closeStore, err := c.p.OpenStore(ctx, url)
	if err != nil {
		return
	}
	defer closeStore()
	use(sessions)
}

// described is a completion with its description, in the format of cobra's completion scripts.
func described(word, meaning string) string { return word + "\t" + term.Truncate(meaning, 60) }

// providers returns the names of the model providers.
func (c completer) providers() []string {
	rules, err := c.p.FolderSettings("")
	if err != nil {
		return providers.Names()
	}
	return rules.Models.ProviderNames()
}

// listWait limits how long a shell waits for a provider's list of models.
const listWait = 3 * time.Second

// models returns the providers and, if the user has typed a provider that answers in time, the
// models of that provider. The result whole is false if more text can follow the word. Commands
// that print a key are not run for completion.
func (c completer) models(ctx context.Context, typed string) (words []string, whole bool) {
	provider, _, chosen := strings.Cut(typed, "/")
	if !chosen {
		for _, name := range append(c.providers(), "scripted") {
			words = append(words, name+"/")
		}
		return words, false
	}
	e := c.p.Environment()
	rules, err := c.p.FolderSettings("")
	if provider == "scripted" || err != nil {
		return nil, true
	}
	at, err := models.EndpointOf(e, provider, rules)
	if err != nil || at.KeySource == "command" || at.KeySource == "keyring" {
		return nil, true
	}
	if at, err = models.Resolve(ctx, e, provider, "", rules); err != nil {
		return nil, true
	}
	ctx, stop := context.WithTimeout(ctx, listWait)
	defer stop()
	list, err := at.List(ctx, e, rules)
	if err != nil {
		return nil, true
	}
	for i := range list {
		word := provider + "/" + list[i].Model
		if n := list[i].Context; n > 0 {
			word = described(word, fmt.Sprintf("%dk tokens of context", n/1000))
		}
		words = append(words, word)
	}
	return words, true
}

func modeNames() []string {
	var names []string
	for _, m := range policy.Modes() {
		names = append(names, string(m))
	}
	return names
}
