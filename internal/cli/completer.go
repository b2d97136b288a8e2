package cli

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// completer finds the words that complete what was typed.
type completer struct{ p *command.Program }

// slugs are the names of the workspaces. Completion has nobody to report an error to.
func (c completer) slugs(ctx context.Context) (words []string) {
	_ = command.WithWorkspaces(c.p, func(w *workspace.Workspaces) error {
		list, err := w.List(ctx)
		for _, l := range list {
			words = append(words, l.Slug)
		}
		return err
	})
	return words
}

// sessions are the newest sessions, with their titles. A store that would have to be
// created or asked over a network is left alone.
func (c completer) sessions(ctx context.Context, store string) (words []string) {
	c.withStore(ctx, store, func(s *session.Sessions) {
		page, err := s.List(ctx, session.Query{Limit: 50, Unowned: true})
		if err != nil {
			return
		}
		for _, m := range page.Sessions {
			words = append(words, described(m.ID, cmp.Or(m.Title, m.FirstPrompt)))
		}
	})
	return words
}

// approvals are the questions that wait for an answer.
func (c completer) approvals(ctx context.Context, store string) (words []string) {
	c.withStore(ctx, store, func(s *session.Sessions) {
		open, err := approval.Pending(ctx, s, "")
		if err != nil {
			return
		}
		for _, q := range open {
			words = append(words, described(q.ID, q.Tool+" "+question.Subject(q)))
		}
	})
	return words
}

// withStore opens the store that the command line names, if it is there already.
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

// described is a word with its meaning, as cobra's completion scripts want them.
func described(word, meaning string) string { return word + "\t" + term.Truncate(meaning, 60) }

// providers are the names of the providers of models.
func (c completer) providers() []string {
	rules, err := c.p.FolderSettings("")
	if err != nil {
		return providers.Names()
	}
	return rules.Models.ProviderNames()
}

// listWait bounds how long a shell waits for the list of a provider.
const listWait = 3 * time.Second

// models are the providers, and the models of the one that was typed, as far as it tells them
// within a moment; whole is false of what goes on. A command that prints a key is not run for that.
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
		words = append(words, provider+"/"+list[i].Model)
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
