package settings_test

import (
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/internal/settings"
)

func ExampleLoad() {
	s, err := settings.Load(&settings.Options{
		Cwd: os.TempDir(), FlagsOnly: true,
		Files: []string{`{"permissions": {"defaultMode": "plan", "deny": ["Bash(git push:*)"]}}`},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := s.Rules[0]
	fmt.Printf("%s; %s %s at %d:%d\n", s.Mode.Value, r.Effect, r.Text, r.Line, r.Col)
	// Output: plan; deny Bash(git push:*) at 1:50
}

func ExampleLoad_refused() {
	_, err := settings.Load(&settings.Options{
		Cwd: os.TempDir(), FlagsOnly: true, Files: []string{`{"permissions": {"denied": ["Bash"]}}`},
	})
	fmt.Println(err)
	// Output: --settings:1:18: unknown key "permissions.denied"
}

func ExampleOpenTrust() {
	trust, err := settings.OpenTrust(os.TempDir() + "/no-home")
	fmt.Println(len(trust.List()), err)
	// Output: 0 <nil>
}
