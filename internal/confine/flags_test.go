package confine

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		line string
		want Flags
		err  string
	}{
		{"-- ls -l", Flags{Command: []string{"ls", "-l"}}, ""},
		{"ls -l -- x", Flags{Command: []string{"ls", "-l", "--", "x"}}, ""},
		{"--quiet -- --odd", Flags{Quiet: true, Command: []string{"--odd"}}, ""},
		{
			"--write a --write=b=c --read . --deny d --allow-domain *.x --env A --env B=1 --keep-env --cwd w --json-report 3 --settings {} x",
			Flags{
				Settings: "{}", Write: []string{"a", "b=c"}, Read: []string{"."}, Deny: []string{"d"}, AllowDomain: []string{"*.x"},
				Env: []string{"A", "B=1"}, KeepEnv: true, CWD: "w", JSONReport: "3", Command: []string{"x"},
			},
			"",
		},
		{"", Flags{}, "the command to run"},
		{"--", Flags{}, "the command to run"},
		{"--quiet", Flags{}, "the command to run"},
		{"--write", Flags{}, "a value is missing"},
		{"--write= x", Flags{}, "--write is empty"},
		{"--quiet=yes x", Flags{}, "unknown flag"},
		{"--help", Flags{}, "unknown flag"},
		{"-q x", Flags{}, "unknown flag"},
		{"--wri a x", Flags{}, "unknown flag"},
	} {
		got, err := Parse(strings.Fields(tt.line))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %+v, %v", tt.line, got, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%q: %+v, %v", tt.line, got, err)
		}
	}
}

func TestIsInvocation(t *testing.T) {
	for line, want := range map[string]bool{"": false, "sandbox": false, "sandbox check": false, "run sandbox exec": false, "sandbox exec": true, "sandbox exec -- x": true} {
		if _, ok := IsInvocation(strings.Fields(line)); ok != want {
			t.Errorf("%q: %v", line, ok)
		}
	}
}

func TestLast(t *testing.T) {
	got := last([]string{"A=1", "B=2", "A=3", "C", "B=4"})
	if want := []string{"A=3", "B=4", "C"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}
