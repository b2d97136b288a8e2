package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// session creates a session of a workspace and closes it.
func (d *diskEnv) session(id string, s *Settings) {
	d.t.Helper()
	log, err := d.sessions.Create(d.t.Context(), session.Opened{SessionID: id, Project: s.SessionProject()})
	okay(d.t, err)
	okay(d.t, log.Close())
}

// deletionRecords counts how many records in the session's log say that its workspace was deleted.
func (d *diskEnv) deletionRecords(id string, s *Settings) int {
	d.t.Helper()
	n := 0
	for r, err := range d.sessions.Store().Read(d.t.Context(), id, session.Range{}) {
		okay(d.t, err)
		if r.Kind != record.KindWorkspaceEvent {
			continue
		}
		var got map[string]string
		okay(d.t, json.Unmarshal(r.Payload, &got))
		if got["event"] == "deleted" && got["workspace"] == s.Slug && got["workspace_id"] == s.ID {
			n++
		}
	}
	return n
}

func TestDelete(t *testing.T) {
	d := newDiskEnv(t)
	to := outsideFolder(t)
	project := filepath.Join(filepath.Dir(d.home), "project")
	okay(t, os.Mkdir(project, 0o755))
	okay(t, os.WriteFile(filepath.Join(project, "work"), []byte("kept"), 0o600))
	s := d.make(Settings{Slug: "a", Project: project})
	kept := d.make(Settings{Slug: "b"})
	okay(t, os.WriteFile(filepath.Join(d.dirs(s).Home, "file"), nil, 0o600))
	okay(t, os.Symlink(to, filepath.Join(d.dirs(s).Home, "link")))
	okay(t, os.Symlink(project, filepath.Join(d.dirs(s).Run, "link")))
	d.session("one", s)
	d.session("wt-two", s)
	d.session("trashed", s)
	d.session("other", kept)
	okay(t, d.sessions.Trash(t.Context(), "trashed"))
	gone, err := d.Delete(t.Context(), "a", nil)
	if err != nil || gone.Sessions != 3 || gone.Entries < 6 || len(gone.Notices) != 0 {
		t.Errorf("%+v, %v", gone, err)
	}
	if fmt.Sprint(d.removed) != "[a]" {
		t.Errorf("containers removed: %v", d.removed)
	}
	for id, want := range map[string]int{"one": 1, "wt-two": 1, "trashed": 1} {
		if n := d.deletionRecords(id, s); n != want {
			t.Errorf("session %s has %d records of the deletion", id, n)
		}
	}
	if d.deletionRecords("other", kept) != 0 {
		t.Error("a session of another workspace has a record of the deletion")
	}
	noFile(t, d.at("a"))
	if names, err := os.ReadDir(d.folder()); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
	if b, err := os.ReadFile(filepath.Join(project, "work")); string(b) != "kept" || err != nil {
		t.Errorf("the project: %q, %v", b, err)
	}
	if _, err := d.Delete(t.Context(), "a", nil); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if again := d.make(Settings{Slug: "a"}); again.ID == s.ID {
		t.Error("another workspace of the name has the same id")
	}
}

func TestDeleteRefused(t *testing.T) {
	d := newDiskEnv(t)
	if _, err := d.Delete(t.Context(), "none", nil); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	d.make(Settings{Slug: "a"})
	for _, slug := range []string{"", "..", "../a", "a/", "A", "a\n"} {
		if _, err := d.Delete(t.Context(), slug, nil); !errors.Is(err, ErrInvalidSlug) {
			t.Errorf("%q: %v", slug, err)
		}
	}
	okay(t, os.Mkdir(d.at("file-keeper"), 0o700))
	if _, err := d.Get(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

// Without an engine nothing is deleted, because the container may still run.
func TestDeleteWithoutEngine(t *testing.T) {
	d := newDiskEnv(t)
	s := d.make(Settings{Slug: "a"})
	okay(t, os.WriteFile(filepath.Join(d.dirs(s).Home, "file"), nil, 0o600))
	d.remove = func(context.Context, string) error { return ErrNoEngine }
	if _, err := d.Delete(t.Context(), "a", nil); !errors.Is(err, ErrNoEngine) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(d.dirs(s).Home, "file")); err != nil {
		t.Errorf("the home was touched: %v", err)
	}
	gone, err := d.Delete(t.Context(), "a", &DeleteOptions{NoEngine: true})
	if err != nil || len(gone.Notices) != 1 || !strings.Contains(gone.Notices[0], "container") {
		t.Errorf("%+v, %v", gone, err)
	}
	noFile(t, d.at("a"))
}

// A deletion that was interrupted at any point is completed by deleting again; each session gets one record of
// it.
func TestDeleteCrash(t *testing.T) {
	crash := errors.New("crash")
	for _, at := range []string{"mark", "container", "folders", "sessions", "renamed"} {
		t.Run(at, func(t *testing.T) {
			d := newDiskEnv(t)
			s := d.make(Settings{Slug: "a"})
			d.session("one", s)
			d.onDeleteStep = func(name string) error {
				if name == at {
					return crash
				}
				return nil
			}
			if _, err := d.Delete(t.Context(), "a", nil); !errors.Is(err, crash) {
				t.Fatal(err)
			}
			next := diskEnvAt(t, d.home, d.sessions)
			if at == "renamed" {
				next.make(Settings{Slug: "b"}) // which removes leftovers of other workspaces
			} else {
				next.completeDeletion(s)
			}
			if n := next.deletionRecords("one", s); n != 1 {
				t.Errorf("the session has %d records of the deletion", n)
			}
			names, err := os.ReadDir(d.folder())
			if want := map[bool]int{true: 1}[at == "renamed"]; err != nil || len(names) != want {
				t.Errorf("%v, %v", names, err)
			}
		})
	}
}

// completeDeletion completes a deletion that another process began.
func (d *diskEnv) completeDeletion(s *Settings) {
	t := d.t
	t.Helper()
	if _, err := d.Get(t.Context(), "a"); !errors.Is(err, ErrDeleting) {
		t.Errorf("get: %v", err)
	}
	if _, err := d.Create(t.Context(), Settings{Slug: "a"}); !errors.Is(err, ErrDeleting) || !strings.Contains(outcome.Hint(err), "delete a") {
		t.Errorf("create: %v, %q", err, outcome.Hint(err))
	}
	if _, err := d.Usage(t.Context(), "a"); !errors.Is(err, ErrDeleting) {
		t.Errorf("usage: %v", err)
	}
	if gone, err := d.Delete(t.Context(), "a", nil); err != nil || len(gone.Notices) > 0 {
		t.Errorf("delete again: %+v, %v", gone, err)
	}
	noFile(t, d.at("a"))
	if d.make(Settings{Slug: "a"}).ID == s.ID {
		t.Error("the new one has the old id")
	}
	if _, err := d.Delete(t.Context(), "a", nil); err != nil {
		t.Error(err)
	}
}

// A workspace whose settings are unreadable can be deleted, and its sessions are found as long as the settings
// contain the ID.
func TestDeleteDamaged(t *testing.T) {
	to := outsideFolder(t)
	for name, tt := range map[string]struct {
		damage   func(d *diskEnv, s *Settings) error
		sessions int
		notices  int
	}{
		"typing error": {func(d *diskEnv, s *Settings) error {
			return os.WriteFile(d.at("a", settingsName), []byte(`{"format": 1, "id": "`+s.ID+`", oops}`), 0o600)
		}, 1, 0},
		"nonsense":    {func(d *diskEnv, _ *Settings) error { return os.WriteFile(d.at("a", settingsName), []byte(`x`), 0o600) }, 0, 1},
		"no settings": {func(d *diskEnv, _ *Settings) error { return os.Remove(d.at("a", settingsName)) }, 0, 1},
		"no home":     {func(d *diskEnv, s *Settings) error { return os.Remove(d.dirs(s).Home) }, 1, 0},
		"linked home": {func(d *diskEnv, s *Settings) error {
			return errors.Join(os.Remove(d.dirs(s).Home), os.Symlink(to, d.dirs(s).Home))
		}, 1, 0},
		"linked lock": {func(d *diskEnv, _ *Settings) error {
			return errors.Join(os.RemoveAll(d.at("a", lockName)), os.Symlink(filepath.Join(to, "new"), d.at("a", "lock2")))
		}, 1, 0},
		"more folders": {func(d *diskEnv, _ *Settings) error {
			outer, inner := d.at("a", "x"), d.at("a", "x", "y")
			return errors.Join(os.MkdirAll(inner, 0o700), os.Chmod(inner, 0), os.Chmod(outer, 0))
		}, 1, 0},
		"a link": {func(d *diskEnv, _ *Settings) error {
			return errors.Join(os.RemoveAll(d.at("a")), os.Symlink(to, d.at("a")))
		}, 0, 1},
		"link to another": {func(d *diskEnv, _ *Settings) error {
			d.make(Settings{Slug: "b"})
			return errors.Join(os.RemoveAll(d.at("a")), os.Symlink("b", d.at("a")))
		}, 0, 1},
		"a file": {func(d *diskEnv, _ *Settings) error {
			return errors.Join(os.RemoveAll(d.at("a")), os.WriteFile(d.at("a"), nil, 0))
		}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDiskEnv(t)
			s := d.make(Settings{Slug: "a"})
			d.session("one", s)
			okay(t, tt.damage(d, s))
			gone, err := d.Delete(t.Context(), "a", nil)
			if err != nil || gone.Sessions != tt.sessions || len(gone.Notices) != tt.notices {
				t.Errorf("%+v, %v", gone, err)
			}
			noFile(t, d.at("a"))
			if name == "link to another" {
				if _, err := d.Get(t.Context(), "b"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A session that is open in another process delays the deletion, which is completed later.
func TestDeleteBusySession(t *testing.T) {
	d := newDiskEnv(t)
	s := d.make(Settings{Slug: "a"})
	log, err := session.New(d.sessions.Store(), &session.Options{Holder: session.Holder{ID: "other", Host: "elsewhere", PID: 7}}).
		Create(t.Context(), session.Opened{SessionID: "one", Project: s.SessionProject()})
	okay(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	d.onDeleteStep = func(name string) error {
		if name == "folders" {
			cancel()
		}
		return nil
	}
	if _, err := d.Delete(ctx, "a", nil); err == nil {
		t.Error("it did not wait")
	}
	if _, err := d.Get(t.Context(), "a"); !errors.Is(err, ErrDeleting) {
		t.Error(err)
	}
	okay(t, log.Close())
	if gone, err := d.Delete(t.Context(), "a", nil); err != nil || gone.Sessions != 1 {
		t.Errorf("%+v, %v", gone, err)
	}
}

// The sweep removes leftovers, but not workspaces that are being created.
func TestSweep(t *testing.T) {
	d := newDiskEnv(t)
	d.make(Settings{Slug: "a"})
	okay(t, os.MkdirAll(d.at(deletedPrefix+"x", "y"), 0o700))
	okay(t, os.Mkdir(d.at(stagePrefix+"begun"), 0o700))
	okay(t, os.Mkdir(d.at(stagePrefix+"old"), 0o700))
	old := time.Now().Add(-2 * time.Hour)
	okay(t, os.Chtimes(d.at(stagePrefix+"old"), old, old))
	okay(t, os.Mkdir(d.at(stagePrefix+"left"), 0o700))
	okay(t, os.WriteFile(d.at(stagePrefix+"left", lockName), nil, 0o600))
	okay(t, os.Symlink(outsideFolder(t), d.at(stagePrefix+"link")))
	d.make(Settings{Slug: "b"})
	noFile(t, d.at(deletedPrefix+"x"))
	noFile(t, d.at(stagePrefix+"left"))
	noFile(t, d.at(stagePrefix+"old"))
	noFile(t, d.at(stagePrefix+"link"))
	if _, err := os.Stat(d.at(stagePrefix + "begun")); err != nil {
		t.Errorf("one that is being made: %v", err)
	}
}
