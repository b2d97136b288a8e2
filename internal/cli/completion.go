package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// completionCmd is `holdfast completion`.
type completionCmd struct {
	Shell string
}

func (c *completionCmd) Declare(b *command.Builder) {
	b.Arg(&c.Shell, "shell", "bash, zsh, fish or powershell.", "bash", "zsh", "fish", "powershell")
}

func (c *completionCmd) Run(_ context.Context, p *command.Program) error {
	root := newRoot(p, nil)
	switch c.Shell {
	case "zsh":
		return root.GenZshCompletion(p.Stdout)
	case "fish":
		return root.GenFishCompletion(p.Stdout, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(p.Stdout)
	}
	return root.GenBashCompletionV2(p.Stdout, true)
}

// candidates returns the words of a kind that complete the given prefix.
func (c completer) candidates(ctx context.Context, kind, typed, store string) ([]string, cobra.ShellCompDirective) {
	var words []string
	switch {
	case kind == "SLUG":
		words = c.workspaces(ctx)
	case kind == "SESSION" || kind == "ID|NAME" || kind == "SESSION-ID":
		return c.sessions(ctx, typed, store, kind != "SESSION-ID"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	case kind == "APPROVAL":
		return c.approvals(ctx, typed, store), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	case kind == "MODE":
		words = modeNames()
	case kind == "PROVIDER/MODEL":
		words, whole := c.models(ctx, typed)
		if !whole {
			return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	case kind == "PROVIDER":
		words = c.providers()
	case kind == "URL" && !strings.Contains(typed, ":"):
		return []string{"sqlite:", "file:", "postgres://", "mysql://", "redis://", "s3://", "memory:"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	case kind == "FOLDER":
		return nil, cobra.ShellCompDirectiveFilterDirs
	case strings.HasPrefix(kind, "FILE") || kind == "URL" || kind == "PROMPT":
		return nil, cobra.ShellCompDirectiveDefault
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
