package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

func TestCorpusDisk(t *testing.T) {
	cases := corpus.Area(t, corpusFile, "slug", "sid", "clean", "trust", "files")
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){
		"slug": caseName("slug", CheckSlug), "sid": caseName("session id", session.CheckID), "clean": caseClean,
		"trust": caseTrust, "pa-trust-016": corpus.Test(`{"given": {"state":"trust mode"}, "when": ["read .env"], "expect": {"allowed":false,"reason":"deny pattern"}}`, caseDenyBeatsTrust), "files": caseFiles,
		"pa-clean-002": corpus.Test(`{"given": {"state":"sandbox dir is a symlink"}, "when": ["cleanup"], "expect": {"link":"removed","target":"untouched"}}`, caseClean),
		"pa-clean-004": corpus.Test(`{"given": {"state":"container still running"}, "when": ["cleanup"], "expect": {"refused or stopped first":true}}`, caseClean),
	}, nil)
}

// caseName checks a workspace name.
func caseName(field string, check func(string) error) func(*testing.T, corpus.Case) {
	return func(t *testing.T, c corpus.Case) {
		var given map[string]string
		var want struct{ Valid bool }
		c.Decode(t, c.Setup(), &given)
		c.Decode(t, c.Expect(), &want)
		name, ok := given[field]
		if err := check(name); !ok || (err == nil) != want.Valid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func caseTrust(t *testing.T, c corpus.Case) {
	var given struct{ Value json.RawMessage }
	var want struct{ Result string }
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Expect(), &want)
	got := Direct
	err := got.UnmarshalJSON(given.Value)
	if text, failed := strings.CutPrefix(want.Result, "error"); failed {
		if !errors.Is(err, ErrInvalid) || got != Sandboxed {
			t.Errorf("%s: %q, %v", given.Value, got, err)
		}
		if text != "" && (!strings.Contains(err.Error(), "Unknown trust level") || !strings.Contains(outcome.Hint(err), "direct, sandboxed")) {
			t.Errorf("%v, hint %q", err, outcome.Hint(err))
		}
		return
	}
	if err != nil || string(got) != want.Result {
		t.Errorf("%s: %q, %v", given.Value, got, err)
	}
}

// caseDenyBeatsTrust: a deny of a policy also applies in the mode that allows everything.
func caseDenyBeatsTrust(t *testing.T, c corpus.Case) {
	var want struct {
		Allowed bool
		Reason  string
	}
	c.Decode(t, c.Expect(), &want)
	dir := t.TempDir()
	forbidden, err := policy.PathRules{Deny: []string{".git/**", "**/.env*", "**/*.pem", "**/*.key", "**/id_rsa*", "**/secrets/**", "**/.npmrc", "**/.yarnrc", "**/*.crt"}, Cwd: dir}.ForbidPolicy()
	okay(t, err)
	guards, err := policy.New(&policy.Config{
		Mode: policy.ModeBypass, Limits: []policy.NamedPolicy{{Name: "forbidden", Policy: forbidden}}, Folders: []string{dir},
	})
	okay(t, err)
	for name, allowed := range map[string]bool{".env": want.Allowed, "sub/.env": false, "api.key": false, "post.md": true} {
		d := guards.Guard("Read").Judge(t.Context(), []policy.Request{{Tool: "Read", Operation: policy.OpRead, Resource: filepath.Join(dir, name)}}, nil)
		if (d.Effect == policy.Allow) != allowed || !allowed && d.By != "forbidden" {
			t.Errorf("%s: %s by %s: %s", name, d.Effect, d.By, d.Reason)
		}
	}
}

func caseClean(t *testing.T, c corpus.Case) {
	var given struct{ State string }
	c.Decode(t, c.Setup(), &given)
	d := newDiskEnv(t)
	to := outsideFolder(t)
	s := d.make(Settings{Slug: "a"})
	switch given.State {
	case "sandbox dir is a symlink":
		for _, part := range []string{d.dirs(s).Home, d.dirs(s).Base} {
			okay(t, os.RemoveAll(part))
			okay(t, os.Symlink(to, part))
			if _, err := d.Delete(t.Context(), "a", nil); err != nil {
				t.Error(err)
			}
			noFile(t, part)
			d.make(Settings{Slug: "a"})
		}
	case "sandbox data dir":
		var want struct{ Mode string }
		c.Decode(t, c.Expect(), &want)
		for _, part := range []string{d.dirs(s).Base, d.dirs(s).Home} {
			if info, err := os.Stat(part); err != nil || fmt.Sprintf("%04o", info.Mode().Perm()) != want.Mode {
				t.Errorf("%v, %v", info, err)
			}
		}
	case "container still running":
		d.remove = func(context.Context, string) error {
			if _, err := os.Stat(d.dirs(s).Home); err != nil {
				t.Errorf("the home went before the container: %v", err)
			}
			return errors.New("it does not stop")
		}
		if _, err := d.Delete(t.Context(), "a", nil); err == nil || !strings.Contains(err.Error(), "does not stop") {
			t.Error(err)
		}
		if _, err := os.Stat(d.dirs(s).Home); err != nil {
			t.Errorf("the home went although the container stayed: %v", err)
		}
	default:
		t.Errorf("nothing knows the state %q", given.State)
	}
}

func caseFiles(t *testing.T, c corpus.Case) {
	var given map[string]string
	c.Decode(t, c.Setup(), &given)
	f, dir := newDiskEnv(t).files(HomeFiles)
	okay(t, os.Mkdir(filepath.Join(dir, "subdir"), 0o700))
	okay(t, os.WriteFile(filepath.Join(dir, "file.txt"), []byte("hello"), 0o600))
	okay(t, os.WriteFile(filepath.Join(dir, ".hidden"), nil, 0o600))
	if path, ok := given["path"]; ok {
		caseResolve(t, c, f, path)
	} else if name, ok := given["upload name"]; ok {
		_, err := f.Write(t.Context(), "", name, strings.NewReader("x"), 0)
		okay(t, err)
		var want struct{ Written string }
		c.Decode(t, c.Expect(), &want)
		written, home := strings.CutSuffix(want.Written, " in the home")
		if b, err := os.ReadFile(filepath.Join(dir, written)); !home || string(b) != "x" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
	} else if path, ok := given["delete path"]; ok {
		var want struct{ Status int }
		c.Decode(t, c.Expect(), &want)
		if err := f.Remove(t.Context(), path); outcome.FromError(err).Status != want.Status {
			t.Errorf("%v is %d, want %d", err, outcome.FromError(err).Status, want.Status)
		}
	} else if given["state"] == "hidden files" {
		var lists []string
		var want struct{ Results []string }
		c.Decode(t, c.Action(), &lists)
		c.Decode(t, c.Expect(), &want)
		for i, list := range lists {
			page, err := f.List(t.Context(), "", FilesQuery{Hidden: list == "list with hidden"})
			okay(t, err)
			if is := slices.Contains(names(page), ".hidden"); i >= len(want.Results) || is != (want.Results[i] == "present") {
				t.Errorf("%s: %v", list, names(page))
			}
		}
	} else {
		t.Errorf("nothing knows %s", c.Setup())
	}
}

// caseResolve: a path is either a file of the home or rejected.
func caseResolve(t *testing.T, c corpus.Case, f *Files, path string) {
	t.Helper()
	var want struct{ Result string }
	c.Decode(t, c.Expect(), &want)
	r, err := f.Open(path, 100)
	switch {
	case strings.HasPrefix(want.Result, "ok"):
		if err != nil {
			t.Error(err)
			return
		}
		okay(t, r.Close())
	case want.Result == "403":
		if outcome.FromError(err).Status != 403 || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v is %d", err, outcome.FromError(err).Status)
		}
	default:
		t.Errorf("nothing knows the result %q", want.Result)
	}
}
