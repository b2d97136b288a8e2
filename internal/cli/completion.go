package cli

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/approval"
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

func (c *completionCmd) declare(b *builder) {
	b.arg(&c.Shell, "shell", "bash, zsh or fish.", "bash", "zsh", "fish")
}

func (c *completionCmd) run(_ context.Context, p *Program) error {
	root := p.root(nil)
	switch c.Shell {
	case "zsh":
		return root.GenZshCompletion(p.Stdout)
	case "fish":
		return root.GenFishCompletion(p.Stdout, true)
	}
	return root.GenBashCompletionV2(p.Stdout, true)
}

// complete says how the values of a command's flags and its arguments are completed.
func (b *builder) complete() {
	b.set.VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(*value); ok && !v.isSwitch() {
			_ = b.cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				return b.candidates(cmd.Context(), v.placeholder, v.choices, typed)
			})
		}
	})
	b.cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		if b.verbatim || len(b.args) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		a := b.args[min(len(given), len(b.args)-1)]
		if _, list := a.to.(*[]string); len(given) >= len(b.args) && !list {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		kind := strings.ToUpper(a.name)
		if kind == "ID" && cmd.Parent().Name() == "approvals" {
			kind = "APPROVAL"
		}
		return b.candidates(cmd.Context(), kind, a.choices, typed)
	}
}

// candidates are the words that complete what was typed, by the kind of value.
func (b *builder) candidates(ctx context.Context, kind string, choices []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(choices) > 0 {
		return choices, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	switch {
	case kind == "SLUG":
		words = b.p.slugs(ctx)
	case kind == "SESSION" || kind == "ID" || kind == "ID|NAME":
		words = b.sessions(ctx)
	case kind == "APPROVAL":
		words = b.approvals(ctx)
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
func (p *Program) slugs(ctx context.Context) (words []string) {
	_ = p.withSpaces(func(w *workspace.Workspaces) error {
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
func (b *builder) sessions(ctx context.Context) (words []string) {
	b.withStore(ctx, func(s *session.Sessions) {
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
func (b *builder) approvals(ctx context.Context) (words []string) {
	b.withStore(ctx, func(s *session.Sessions) {
		open, err := approval.Pending(ctx, s, "")
		if err != nil {
			return
		}
		for _, q := range open {
			words = append(words, cobra.CompletionWithDesc(q.ID, term.Fit(q.Tool+" "+subject(q), 60)))
		}
	})
	return words
}

// withStore opens the store that the command line names, if it is there already.
func (b *builder) withStore(ctx context.Context, use func(*session.Sessions)) {
	url := ""
	if f := b.set.Lookup("store"); f != nil {
		url = f.Value.String()
	}
	ref, err := stores.Parse(b.p.environment(), url)
	if err != nil || !ref.IsLocal() {
		return
	}
	if _, err := os.Stat(strings.TrimPrefix(ref.URL, ref.Scheme+":")); err != nil {
		return
	}
	sessions, closeStore, err := b.p.openStore(ctx, url)
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
