package cli

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// completionCmd is `holdfast completion`.
type completionCmd struct {
	Shell string
}

func (c *completionCmd) Declare(b *command.Builder) {
	b.Arg(&c.Shell, "shell", "bash, zsh or fish.", "bash", "zsh", "fish")
}

func (c *completionCmd) Run(_ context.Context, p *command.Program) error {
	root := newRoot(p, nil)
	switch c.Shell {
	case "zsh":
		return root.GenZshCompletion(p.Stdout)
	case "fish":
		return root.GenFishCompletion(p.Stdout, true)
	}
	return root.GenBashCompletionV2(p.Stdout, true)
}

// completer finds the words that complete what was typed.
type completer struct{ p *command.Program }

func (c completer) candidates(ctx context.Context, kind, typed, store string) ([]string, cobra.ShellCompDirective) {
	var words []string
	switch {
	case kind == "SLUG":
		words = c.slugs(ctx)
	case kind == "SESSION" || kind == "ID" || kind == "ID|NAME":
		words = c.sessions(ctx, store)
	case kind == "APPROVAL":
		words = c.approvals(ctx, store)
	case kind == "MODE":
		words = modeNames()
	case kind == "PROVIDER/MODEL":
		return []string{"anthropic/", "openai/", "ollama/", "scripted/"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	case kind == "URL" && !strings.Contains(typed, ":"):
		return []string{"sqlite:", "file:", "postgres://", "mysql://", "redis://", "s3://", "memory:"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	case kind == "FOLDER":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case strings.HasPrefix(kind, "FILE") || kind == "URL" || kind == "PROMPT":
		return nil, cobra.ShellCompDirectiveDefault
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// slugs are the names of the workspaces. Completion has nobody to report an error to.
func (c completer) slugs(ctx context.Context) (words []string) {
	_ = command.WithSpaces(c.p, func(w *workspace.Workspaces) error {
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
			words = append(words, cobra.CompletionWithDesc(m.ID, term.Fit(cmp.Or(m.Title, m.FirstPrompt), 60)))
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
			words = append(words, cobra.CompletionWithDesc(q.ID, term.Fit(q.Tool+" "+question.Subject(q), 60)))
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

func modeNames() []string {
	var names []string
	for _, m := range policy.Modes() {
		names = append(names, string(m))
	}
	return names
}
