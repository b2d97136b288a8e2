package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// complete registers the completion of a command's flag values and arguments.
func (b *Builder) complete() {
	b.set.VisitAll(func(f *pflag.Flag) {
		if v, ok := f.Value.(*Value); ok && !v.IsSwitch() {
			_ = b.cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
				kind := v.Placeholder
				switch f.Name { // other flags with an ID take the id of something else
				case "parent":
					kind = "SESSION"
				case "session-id":
					kind = "SESSION-ID" // a short id would be the id of a new session
				}
				return b.candidates(cmd.Context(), kind, v.Choices, typed)
			})
		}
	})
	b.cmd.ValidArgsFunction = func(cmd *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		if b.Verbatim || len(b.args) == 0 {
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

// candidates returns the completions of a word, by the kind of value.
func (b *Builder) candidates(ctx context.Context, kind string, choices []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(choices) > 0 {
		return choices, cobra.ShellCompDirectiveNoFileComp
	}
	store := ""
	if f := b.set.Lookup("store"); f != nil {
		store = f.Value.String()
	}
	return b.p.Candidates(ctx, kind, typed, store)
}
