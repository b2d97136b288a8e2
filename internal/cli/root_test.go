package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// visitCommands calls visit for every command.
func visitCommands(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range command.Subcommands(cmd) {
		visitCommands(c, visit)
	}
}

// Every flag has a settable type, and every argument is in the usage line.
func TestFlagTypes(t *testing.T) {
	var p command.Program
	p.SetDefaults()
	visitCommands(newRoot(&p, nil), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			v, ok := f.Value.(*command.Value)
			if !ok {
				return
			}
			text := "1"
			switch v.Target.(type) {
			case *time.Duration, **time.Duration:
				text = "1s"
			}
			if len(v.Choices) > 0 {
				text = v.Choices[0]
			}
			if err := v.Set(text); err != nil {
				t.Errorf("%s --%s: %v", cmd.CommandPath(), f.Name, err)
			}
		})
		if n := strings.Count(cmd.Use, "<"); n != len(command.Arguments(cmd)) {
			t.Errorf("%s has %d arguments, the help has %d", cmd.Use, n, len(command.Arguments(cmd)))
		}
	})
}

// A start builds only the command that was named.
func TestLazyCommands(t *testing.T) {
	var p command.Program
	p.SetDefaults()
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"run", "x"}, 1}, {[]string{"sessions", "list"}, 1}, {[]string{"--help"}, 30}, {[]string{"nonsense"}, 0}, {nil, 30}, {[]string{"-c", "fix it"}, 0}, {[]string{"-c", "run", "x"}, 1},
	} {
		if n := len(command.Subcommands(newRoot(&p, tt.args))); n != tt.want {
			t.Errorf("%q builds %d commands, want %d", tt.args, n, tt.want)
		}
	}
}

func TestFilled(t *testing.T) {
	got := strings.Join(expandHelp("one two\nthree four\n\n  holdfast run\nfive", 9), "|")
	if want := "one two|three|four||  holdfast run|five"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
