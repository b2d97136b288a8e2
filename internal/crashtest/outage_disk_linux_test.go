package crashtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

const asksOnce = "steps:\n  - tool_uses: [{id: u1, tool: Bash, input: {command: \"echo it >> ran\"}}]\n  - text: done\n"

// A daemon with a full disk: waiting runs keep waiting, running ones continue when there is
// space, and writes are refused with 507 until then.
func TestDaemonOnFullDisk(t *testing.T) {
	takesLong(t)
	if !inside(t) {
		return
	}
	for _, store := range Stores {
		t.Run(store, func(t *testing.T) {
			home := shortHome(t)
			if err := syscall.Mount("tmpfs", home, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
				testneed.Root(t, "mounting")
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(home, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			url := localStore(store, home)
			d := &daemonEnv{t: t, bin: testprogram.Path(t), home: home, store: url}
			d.begin()
			waits := d.run("waits", asksOnce, "default")
			pair := d.run("pair", asksOnce, "default", "left", "right")
			question, both := waits.asked(1)[0], pair.asked(2)
			tool := d.run("tool", "steps:\n  - tool_uses: [{tool: Bash, input: {command: \"echo begun >> ran; sleep 3; echo it >> ran\"}}]\n  - text: done\n", "bypassPermissions")
			works := d.run("busy", busyPlay(60), "bypassPermissions")
			for _, r := range []*faultRun{waits, pair, tool, works} {
				r.follow(d)
			}
			tool.awaitLines(1)
			works.awaitLines(5)

			ballast := filepath.Join(home, "ballast")
			fill(t, ballast, 0)
			empty := keepFull(t, ballast)
			d.awaitNotReady("its disk is full")
			stop := d.readiness()
			// A file's last block, and SQLite's journal after a checkpoint, may still have room. An
			// answer for which the journal has room is recorded, but its audit entry is not, so the
			// client gets 507 and asks again.
			long := strings.Repeat("no ", 1<<16)
			d.refused(507, "no_space", decisionOf(question), map[string]any{"decision": "allow", "input": map[string]string{"command": "echo it >> ran", "description": long}})
			d.refused(507, "no_space", "/v1/runs", map[string]string{"cwd": waits.dir, "input": long, "model": "scripted/" + waits.dir + "/play.yaml"})
			stillOpen := map[*faultRun]bool{waits: len(waits.open()) > 0, pair: true}
			if info := waits.info(); info.Status != "waiting" && stillOpen[waits] { // reading goes on
				t.Errorf("while the disk is full the run is %v", info)
			}
			time.Sleep(3 * time.Second) // the tool ends meanwhile
			if longest, ready := stop(); longest > 4*time.Second || ready > 0 {
				t.Errorf("while the disk was full /readyz took up to %v and was ready %d times", longest, ready)
			}
			empty()
			d.awaitReady(time.Minute)

			for _, r := range []*faultRun{waits, pair} {
				if info := r.info(); info.Status != "waiting" && stillOpen[r] {
					t.Errorf("%s is %v when there is room again", r.id, info)
				}
			}
			for r, questions := range map[*faultRun][]string{waits: {question}, pair: both} {
				for _, q := range questions {
					if stillOpen[r] {
						r.answer(d, q)
					}
				}
			}
			for r, want := range map[*faultRun]string{waits: "it", pair: "it it", tool: "begun it", works: expectedLines(60)} {
				info, interrupted := r.awaitEnd(time.Minute)
				if ran := r.ran(); info.Status != "completed" || interrupted != "" || ran != want {
					t.Errorf("%s is %v, interrupted %q, ran %q, want %q", r.id, info, interrupted, ran, want)
				}
				r.checkLog()
				r.checkReceived()
			}
			d.terminate()
			d.verify(url)
		})
	}
}

// keepFull writes to a file on a full disk what others free meanwhile: a run that ends a tool
// call deletes its files. empty removes the file.
func keepFull(t *testing.T, path string) (empty func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		b := make([]byte, 4096)
		for ctx.Err() == nil {
			switch _, err := f.Write(b); {
			case errors.Is(err, syscall.ENOSPC):
				time.Sleep(time.Millisecond)
			case err != nil:
				done <- err
				return
			}
		}
		done <- f.Close()
	}()
	return func() {
		cancel()
		if err := errors.Join(<-done, os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// localStore is the URL of a store of a kind in a home.
func localStore(kind, home string) string {
	return map[string]string{"sqlite": "sqlite:" + home + "/sessions.db", "file": "file:" + home + "/sessions"}[kind]
}

// A daemon whose store is deleted or replaced while in use is not ready and reports it,
// accepts nothing, and starts no command, because the start could not be recorded.
func TestDaemonStoreRemoved(t *testing.T) {
	takesLong(t)
	for _, tt := range []struct {
		store, name string
		take        func(home string) error
		back        func(home string) error // nil: what was there is lost
	}{
		{"sqlite", "deleted", func(home string) error { return os.Remove(home + "/sessions.db") }, nil},
		{"sqlite", "moved", func(home string) error {
			return os.Rename(home+"/sessions.db", home+"/old")
		}, func(home string) error { return os.Rename(home+"/old", home+"/sessions.db") }},
		{"sqlite", "replaced", func(home string) error {
			return errors.Join(os.Rename(home+"/sessions.db", home+"/old"), os.WriteFile(home+"/sessions.db", nil, 0o600))
		}, func(home string) error { return os.Rename(home+"/old", home+"/sessions.db") }},
		{"sqlite", "journal deleted", func(home string) error { return os.Remove(home + "/sessions.db-wal") }, nil},
		{"file", "deleted", func(home string) error { return os.RemoveAll(home + "/sessions") }, nil},
		{"file", "moved", func(home string) error {
			return os.Rename(home+"/sessions", home+"/old")
		}, func(home string) error { return os.Rename(home+"/old", home+"/sessions") }},
	} {
		t.Run(tt.store+" "+tt.name, func(t *testing.T) {
			home := shortHome(t)
			d := &daemonEnv{t: t, bin: testprogram.Path(t), home: home, store: localStore(tt.store, home)}
			d.begin()
			waits := d.run("waits", asksOnce, "default")
			question := waits.asked(1)[0]
			works := d.run("busy", busyPlay(10_000), "bypassPermissions")
			works.awaitLines(5)
			if err := tt.take(home); err != nil {
				t.Fatal(err)
			}
			d.awaitNotReady("it was removed or a write failed; restart the daemon")
			before := works.ran()
			d.refused(503, "unavailable", decisionOf(question), map[string]string{"decision": "allow"})
			d.refused(503, "unavailable", "/v1/runs", map[string]string{"cwd": waits.dir, "input": "x", "model": "scripted/" + waits.dir + "/play.yaml"})
			d.awaitNotReady("it was removed or a write failed; restart the daemon") // and stays so
			if ran := works.ran(); len(strings.Fields(ran)) > len(strings.Fields(before))+1 || waits.ran() != "" {
				t.Errorf("commands ran on: %q, then %q; %q", before, ran, waits.ran())
			}
			d.kill()
			if tt.back == nil {
				return
			}
			if err := tt.back(home); err != nil {
				t.Fatal(err)
			}
			d.start()
			waits.answer(d, question)
			if info, _ := waits.awaitEnd(time.Minute); info.Status != "completed" || waits.ran() != "it" {
				t.Errorf("with the store back the run is %v, ran %q", info, waits.ran())
			}
			d.terminate()
			d.verify(d.store)
		})
	}
}
