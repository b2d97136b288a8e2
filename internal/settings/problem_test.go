package settings_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestProblem(t *testing.T) {
	for _, tt := range []struct {
		p    settings.Problem
		want string
	}{
		{settings.Problem{Detail: "x"}, "x"},
		{settings.Problem{File: "f", Detail: "x"}, "f: x"},
		{settings.Problem{File: "f", Line: 2, Detail: "x"}, "f:2: x"},
		{settings.Problem{File: "f", Line: 2, Col: 3, Detail: "x"}, "f:2:3: x"},
	} {
		if got := tt.p.String(); got != tt.want {
			t.Errorf("%+v: %q", tt.p, got)
		}
	}
	e := fmt.Errorf("load: %w", &settings.Error{Problems: []settings.Problem{{Detail: "x"}}, Err: fs.ErrPermission})
	if !errors.Is(e, settings.ErrInvalid) || !errors.Is(e, fs.ErrPermission) || e.Error() != "load: x" {
		t.Error(e)
	}
}

func TestOriginText(t *testing.T) {
	for _, tt := range []struct {
		o    policy.Origin
		want string
	}{
		{policy.Origin{Layer: layernames.User}, "user"},
		{policy.Origin{File: "--on-ask"}, "--on-ask"},
		{policy.Origin{File: "/f", Line: 3, Col: 4}, "/f:3:4"},
	} {
		if got := settings.OriginText(tt.o); got != tt.want {
			t.Errorf("%+v: %q", tt.o, got)
		}
	}
}

func TestNotice(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"permissions": {"deny": ["Bash"]}}`, ""},
		{`{"permissions": {"allow": ["Bash"]}}`, "1 allow rule is ignored"},
		{`{"permissions": {"allow": ["Bash", "Read"]}}`, "2 allow rules are ignored"},
		{`{"permissions": {"defaultMode": "auto"}}`, "defaultMode auto is ignored"},
		{`{"permissions": {"allow": ["Bash"], "onAsk": "wait"}}`, "1 allow rule, onAsk wait are ignored"},
	} {
		p := newTestHome(t)
		p.write("project/.holdfast/settings.json", tt.text)
		want := ""
		if tt.want != "" {
			want = "the settings of " + p.path("project") + " are not trusted: " + tt.want
		}
		if what, hint := p.load().Notice(); what != want || (hint == "") != (want == "") {
			t.Errorf("%s: %q, hint %q", tt.text, what, hint)
		}
	}
	s, err := settings.Load(&settings.Options{Cwd: os.TempDir(), FlagsOnly: true, Files: []string{`{"permissions": {"allow": ["Bash"]}}`}})
	if err != nil {
		t.Fatal(err)
	}
	if what, _ := s.Notice(); what != "" {
		t.Errorf("what a flag says is not trusted: %s", what)
	}
}

// Without a home folder "~" is refused where it stands, and nothing is guessed.
func TestWithoutHome(t *testing.T) {
	for _, text := range []string{
		`{"permissions": {"additionalDirectories": ["~/x"]}}`,
		`{"permissions": {"deny": ["Read(~/x)"]}}`,
		`{"permissions": {"forbidden": ["~/x"]}}`,
	} {
		s, err := settings.Load(&settings.Options{Cwd: os.TempDir(), FlagsOnly: true, Files: []string{text}})
		if err == nil {
			_, err = s.Policy()
		}
		if err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func TestResolve(t *testing.T) {
	p := newTestHome(t)
	if err := os.Symlink("project", p.path("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("circle", p.path("circle")); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"link/sub": "project/sub", "link/new/x": "project/new/x", "nowhere/x": "nowhere/x", "circle/x": "circle/x"} {
		if got := settings.Resolve(p.path(in)); got != p.path(want) {
			t.Errorf("%s: %s", in, got)
		}
	}
}
