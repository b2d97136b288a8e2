package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func TestNew(t *testing.T) {
	for _, home := range []string{"", ".", "relative/home"} {
		if _, err := New(home, nil); !errors.Is(err, ErrInvalidPath) {
			t.Errorf("%q: %v", home, err)
		}
	}
}

func TestCreate(t *testing.T) {
	d := newDiskEnv(t)
	project := filepath.Join(filepath.Dir(d.home), "blog")
	okay(t, os.Mkdir(project, 0o755))
	made := d.make(Settings{Slug: "blog", Project: project, Agent: AgentSpec{Kind: KindClaude}})
	if len(made.ID) != 16 || made.Created.Nanosecond() != 0 || made.Limits.Memory != 2<<30 || made.Trust != Sandboxed {
		t.Errorf("%+v", made)
	}
	if got, err := d.Get(t.Context(), "blog"); err != nil || !reflect.DeepEqual(got, made) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, name := range []string{"", "home", "run"} {
		info, err := os.Stat(d.at("blog", name))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q: %v, %v", name, info, err)
		}
	}
	if info, err := os.Stat(d.at("blog", settingsName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	noFile(t, d.at("blog", projectName))
	own := d.make(Settings{Slug: "own"})
	if got := d.dirs(own); got.Project != d.at("own", "project") || got.Home != d.at("own", "home") {
		t.Errorf("%+v", got)
	}
	if info, err := os.Stat(d.at("own", "project")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if own.ID == made.ID || own.SessionProject() != "workspace:own:"+own.ID {
		t.Error(own.SessionProject())
	}
	if names, err := os.ReadDir(d.folder()); err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
}

func TestCreateRefused(t *testing.T) {
	d := newDiskEnv(t)
	d.make(Settings{Slug: "there"})
	to := outsideFolder(t)
	okay(t, os.Symlink(to, d.at("linked")))
	okay(t, os.WriteFile(d.at("file"), nil, 0o600))
	okay(t, os.MkdirAll(d.at("half"), 0o700))
	okay(t, os.MkdirAll(d.at("marked"), 0o700))
	okay(t, os.WriteFile(d.at("marked", settingsName), []byte("{}"), 0o600))
	okay(t, os.WriteFile(d.at("marked", deletingName), nil, 0o600))
	for name, tt := range map[string]struct {
		s    Settings
		err  error
		hint string
	}{
		"exists":       {Settings{Slug: "there"}, ErrExists, "holdfast workspace show there"},
		"a link":       {Settings{Slug: "linked"}, ErrDamaged, "holdfast workspace delete linked"},
		"a file":       {Settings{Slug: "file"}, ErrDamaged, "holdfast workspace delete file"},
		"no settings":  {Settings{Slug: "half"}, ErrDeleting, "holdfast workspace delete half completes"},
		"half deleted": {Settings{Slug: "marked"}, ErrDeleting, "holdfast workspace delete marked completes"},
		"slug":         {Settings{Slug: "../x"}, ErrInvalidSlug, "a to z"},
		"id":           {Settings{Slug: "x", ID: "0123456789abcdef"}, ErrInvalid, "remove them"},
		"trust":        {Settings{Slug: "x", Trust: Direct}, ErrInvalid, "holdfast run"},
		"no project":   {Settings{Slug: "x", Project: "/no/such/folder"}, ErrInvalid, "mkdir"},
	} {
		_, err := d.Create(t.Context(), tt.s)
		if !errors.Is(err, tt.err) || !strings.Contains(outcome.Hint(err), tt.hint) {
			t.Errorf("%s: %v, hint %q", name, err, outcome.Hint(err))
		}
	}
	noFile(t, d.at("x"))
}

// Of many processes that create the same workspace at once, one succeeds.
func TestCreateConcurrent(t *testing.T) {
	for range 20 {
		createTogether(t)
	}
}

func createTogether(t *testing.T) {
	t.Helper()
	d := newDiskEnv(t)
	var wg sync.WaitGroup
	made := make([]error, 8)
	for i := range made {
		wg.Go(func() { _, made[i] = diskEnvAt(t, d.home, d.sessions).Create(t.Context(), Settings{Slug: "one"}) })
	}
	wg.Wait()
	won := 0
	for _, err := range made {
		if err == nil {
			won++
		} else if !errors.Is(err, ErrExists) {
			t.Error(err)
		}
	}
	names, err := os.ReadDir(d.folder())
	if won != 1 || err != nil || len(names) != 1 {
		t.Errorf("%d made it: %v, %v", won, names, err)
	}
}

func TestGetDamaged(t *testing.T) {
	to := outsideFolder(t)
	for name, tt := range map[string]struct {
		damage func(d *diskEnv) error
		err    error
	}{
		"gone":         {func(d *diskEnv) error { return os.RemoveAll(d.at("a")) }, ErrNotFound},
		"no settings":  {func(d *diskEnv) error { return os.Remove(d.at("a", settingsName)) }, ErrDeleting},
		"half deleted": {func(d *diskEnv) error { return os.WriteFile(d.at("a", deletingName), nil, 0o600) }, ErrDeleting},
		"not JSON":     {func(d *diskEnv) error { return os.WriteFile(d.at("a", settingsName), []byte("{"), 0o600) }, ErrInvalid},
		"newer":        {func(d *diskEnv) error { return os.WriteFile(d.at("a", settingsName), []byte(`{"format":7}`), 0o600) }, ErrNewer},
		"too large":    {func(d *diskEnv) error { return os.Truncate(d.at("a", settingsName), maxSettings+1) }, ErrDamaged},
		"a folder": {func(d *diskEnv) error {
			return errors.Join(os.Remove(d.at("a", settingsName)), os.Mkdir(d.at("a", settingsName), 0o700))
		}, ErrDamaged},
		"a link": {func(d *diskEnv) error {
			return errors.Join(os.Rename(d.at("a", settingsName), d.at("a", "x")), os.Symlink("x", d.at("a", settingsName)))
		}, ErrDamaged},
		"linked folder": {func(d *diskEnv) error { return errors.Join(os.RemoveAll(d.at("a")), os.Symlink(to, d.at("a"))) }, ErrDamaged},
		"linked inside": {func(d *diskEnv) error {
			return errors.Join(os.Rename(d.at("a"), d.at("b")), os.Symlink("b", d.at("a")))
		}, ErrDamaged},
		"renamed": {func(d *diskEnv) error { return errors.Join(os.RemoveAll(d.at("a")), os.Rename(d.at("b"), d.at("a"))) }, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDiskEnv(t)
			d.make(Settings{Slug: "a"})
			if name != "linked inside" {
				d.make(Settings{Slug: "b"})
			}
			okay(t, tt.damage(d))
			if s, err := d.Get(t.Context(), "a"); !errors.Is(err, tt.err) {
				t.Errorf("%+v, %v", s, err)
			}
			if _, err := d.Set(t.Context(), "a", func(*Settings) error { return nil }); !errors.Is(err, tt.err) {
				t.Errorf("set: %v", err)
			}
		})
	}
}

// A FIFO in place of the settings or of the lock does not block.
func TestList(t *testing.T) {
	d := newDiskEnv(t)
	if list, err := d.List(t.Context()); len(list) != 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	for _, slug := range []string{"b", "a", "c", "half", "damaged"} {
		d.make(Settings{Slug: slug})
	}
	okay(t, os.WriteFile(d.at("half", deletingName), nil, 0o600))
	okay(t, os.WriteFile(d.at("damaged", settingsName), []byte("nonsense"), 0o600))
	okay(t, os.Mkdir(d.at("No Slug"), 0o700))
	okay(t, os.Symlink("a", d.at("z")))
	okay(t, os.Mkdir(d.at(stagePrefix+"x"), 0o700))
	list, err := d.List(t.Context())
	okay(t, err)
	var got []string
	for _, l := range list {
		text := l.Slug
		for _, contract := range []error{ErrDeleting, ErrInvalidSlug, ErrInvalid, ErrDamaged} {
			if errors.Is(l.Err, contract) {
				text += ": " + contract.Error()
			}
		}
		if (l.Settings == nil) == (l.Err == nil) {
			t.Errorf("%+v", l)
		}
		got = append(got, text)
	}
	want := []string{
		"No Slug: " + ErrInvalidSlug.Error(), "a", "b", "c", "damaged: " + ErrInvalid.Error(),
		"half: " + ErrDeleting.Error(), "z: " + ErrDamaged.Error(),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

func TestSet(t *testing.T) {
	d := newDiskEnv(t)
	made := d.make(Settings{Slug: "a", Model: "old"})
	got, err := d.Set(t.Context(), "a", func(s *Settings) error {
		s.Model, s.Limits.PIDs = "new", 0
		return nil
	})
	if err != nil || got.Model != "new" || got.Limits.PIDs != defaultPIDs || got.ID != made.ID {
		t.Errorf("%+v, %v", got, err)
	}
	if now, err := d.Get(t.Context(), "a"); err != nil || !reflect.DeepEqual(now, got) {
		t.Errorf("%+v, %v", now, err)
	}
	errCustom := errors.New("mine")
	for name, tt := range map[string]struct {
		change func(*Settings) error
		err    error
	}{
		"own error": {func(*Settings) error { return errCustom }, errCustom},
		"slug":      {func(s *Settings) error { s.Slug = "b"; return nil }, ErrInvalid},
		"id":        {func(s *Settings) error { s.ID = "ffffffffffffffff"; return nil }, ErrInvalid},
		"limits":    {func(s *Settings) error { s.Limits.Memory = 1; return nil }, ErrInvalid},
		"project":   {func(s *Settings) error { s.Project = d.home; return nil }, ErrInvalid},
	} {
		if _, err := d.Set(t.Context(), "a", tt.change); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := d.Get(t.Context(), "a"); err != nil || !reflect.DeepEqual(now, got) {
		t.Errorf("a change that was refused is there: %+v, %v", now, err)
	}
	if _, err := d.Set(t.Context(), "none", func(*Settings) error { return nil }); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// Concurrent changes from several programs are applied one after the other.
func TestSetConcurrent(t *testing.T) {
	d := newDiskEnv(t)
	d.make(Settings{Slug: "a"})
	var wg sync.WaitGroup
	for range 4 {
		other := diskEnvAt(t, d.home, d.sessions)
		for range 5 {
			wg.Go(func() {
				if _, err := other.Set(t.Context(), "a", func(s *Settings) error { s.Model += "x"; return nil }); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if s, err := d.Get(t.Context(), "a"); err != nil || len(s.Model) != 20 {
		t.Errorf("%+v, %v", s, err)
	}
	if len(d.locks.bySlug) != 0 {
		t.Errorf("%d locks are left", len(d.locks.bySlug))
	}
}

func TestPathsRefused(t *testing.T) {
	d := newDiskEnv(t)
	base := filepath.Dir(d.home)
	for _, name := range []string{"p/in", "q", "link-to"} {
		okay(t, os.MkdirAll(filepath.Join(base, name), 0o755))
	}
	okay(t, os.WriteFile(filepath.Join(base, "file"), nil, 0o600))
	okay(t, os.Symlink("/", filepath.Join(base, "root")))
	okay(t, os.Symlink("link-to", filepath.Join(base, "link")))
	d.make(Settings{Slug: "there", Project: filepath.Join(base, "p")})
	in := func(names ...string) string { return filepath.Join(append([]string{base}, names...)...) }
	for i, tt := range []struct {
		project string
		mounts  []Mount
		want    string
	}{
		{project: in("q")},
		{project: in("p")}, // another workspace's project
		{mounts: []Mount{{Host: in("file"), Target: "/mnt/file"}}},
		{mounts: []Mount{{Host: "/usr/share", Target: "/mnt/share", ReadOnly: true}}},
		{project: "/", want: "project: / belongs to the system"},
		{project: in("root"), want: "project: " + in("root") + " is or contains a link and leads to /"},
		{project: in("link"), want: "leads to " + in("link-to")},
		{project: in("root", "etc"), want: "is or contains a link and leads to /etc"},
		{project: in("none"), want: "does not exist"},
		{project: in("file"), want: "is a regular file"},
		{project: d.home, want: "(HOLDFAST_HOME)"},
		{project: base, want: "(HOLDFAST_HOME)"},
		{project: d.at("there", "home"), want: "(HOLDFAST_HOME)"},
		{project: in("p", "in"), want: "which an agent can write"},
		{project: "/etc", want: "belongs to the system"},
		{project: "/proc/self", want: "/proc/self is or contains a link"},
		{project: "/sys", want: "belongs to the system"},
		{project: "/var", want: "belongs to the system"},
		{mounts: []Mount{{Host: "/", Target: "/mnt/x", ReadOnly: true}}, want: "mounts[0].host: / belongs to the system"},
		{mounts: []Mount{{Host: "/dev/null", Target: "/mnt/x"}}, want: "is a device"},
		{mounts: []Mount{{Host: "/usr/share", Target: "/mnt/x"}}, want: "belongs to the system"},
		{mounts: []Mount{{Host: d.home, Target: "/mnt/x", ReadOnly: true}}, want: "(HOLDFAST_HOME)"},
		{project: in("q"), mounts: []Mount{{Host: in("p", "in"), Target: "/mnt/x"}}, want: "(project of workspace there), which an agent can write"},
		{project: in("q"), mounts: []Mount{{Host: in("link"), Target: "/mnt/x"}}, want: "mounts[0].host: "},
	} {
		_, err := d.Create(t.Context(), Settings{Slug: fmt.Sprintf("s%d", i), Project: tt.project, Mounts: tt.mounts})
		if tt.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", tt, err)
			} else if _, err := d.Delete(t.Context(), fmt.Sprintf("s%d", i), nil); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v\n got %v", tt, err)
		}
	}
}

// The engine's socket and folders around it are rejected.
func TestPathsOfEngine(t *testing.T) {
	d := newDiskEnv(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	okay(t, err)
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "sub", "docker.sock"))
	okay(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	for _, host := range []string{dir, filepath.Join(dir, "sub")} {
		if _, err := d.Create(t.Context(), Settings{Slug: "x", Project: host}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "engine's socket") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// Folders that contain sockets with the user's rights are rejected.
func TestPathsOfSockets(t *testing.T) {
	d := newDiskEnv(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	okay(t, err)
	t.Setenv("HOME", dir)
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "agent", "socket"))
	for _, sub := range []string{".docker/desktop", ".colima/default", "agent", "other/.colima"} {
		okay(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	okay(t, os.WriteFile(filepath.Join(dir, ".docker/desktop/docker.sock"), nil, 0o600))
	for sub, text := range map[string]string{"": "socket", ".docker": "the engine's socket", "agent": "SSH agent", "other": "", ".colima": ""} {
		_, err := d.Create(t.Context(), Settings{Slug: "x" + strings.Trim(sub, "."), Project: filepath.Join(dir, sub)})
		if text == "" && err != nil || text != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), text)) {
			t.Errorf("%q: %v", sub, err)
		}
	}
}

func TestLockWaits(t *testing.T) {
	d := newDiskEnv(t)
	d.make(Settings{Slug: "a"})
	h, err := d.lock(t.Context(), "test", "a")
	okay(t, err)
	for name, other := range map[string]*Workspaces{"this program": d.Workspaces, "another": diskEnvAt(t, d.home, d.sessions).Workspaces} {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := other.lock(ctx, "test", "a")
			failed <- err
		}()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := make(chan error)
	go func() {
		h, err := diskEnvAt(t, d.home, d.sessions).lock(t.Context(), "test", "a")
		if err == nil {
			h.Release()
		}
		got <- err
	}()
	h.Release()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// A caller that waits for the lock of a workspace that is deleted gets ErrNotFound.
func TestLockOfDeleted(t *testing.T) {
	d := newDiskEnv(t)
	d.make(Settings{Slug: "a"})
	other := diskEnvAt(t, d.home, d.sessions)
	waited := make(chan error)
	d.onDeleteStep = func(name string) error {
		if name == "mark" {
			go func() {
				_, err := other.lock(context.Background(), "test", "a")
				waited <- err
			}()
		}
		return nil
	}
	if _, err := d.Delete(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// A folder that was replaced by a link after the settings were made gets no container.
func TestReadyChecksFoldersAgain(t *testing.T) {
	d := newDiskEnv(t)
	project := filepath.Join(filepath.Dir(d.home), "project")
	okay(t, os.Mkdir(project, 0o777))
	okay(t, os.Chmod(project, 0o777))
	d.make(Settings{Slug: "a", Project: project})
	h, err := d.lock(t.Context(), "test", "a")
	okay(t, err)
	defer h.Release()
	if _, err := d.ready(t.Context(), h, "a"); errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	okay(t, os.Remove(project))
	okay(t, os.Symlink(outsideFolder(t), project))
	if _, err := d.ready(t.Context(), h, "a"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "contains a link") {
		t.Error(err)
	}
}
