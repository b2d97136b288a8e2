package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, bus string) *Keys {
	t.Helper()
	return Open(filepath.Join(t.TempDir(), "home"), func(name string) string {
		if name == "DBUS_SESSION_BUS_ADDRESS" {
			return bus
		}
		return ""
	})
}

// Where there is no keyring a key is kept in a file that only the person can read.
func TestFile(t *testing.T) {
	k := open(t, "")
	if key, err := k.Find("groq"); key != "" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if ok, err := k.Remove("groq"); ok || err != nil {
		t.Error(ok, err)
	}
	place, err := k.Store("groq", "made-up", false, now)
	if place != StoreFile || err != nil {
		t.Fatal(place, err)
	}
	info, err := os.Stat(k.File())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if key, err := k.Find("groq"); key != "made-up" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if list, err := k.List(); err != nil || len(list) != 1 || list[0] != (Entry{"groq", StoreFile, now}) {
		t.Errorf("%v, %v", list, err)
	}
	if err := os.Chmod(k.File(), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Find("groq"); err == nil || !strings.Contains(err.Error(), "can be read by others") {
		t.Error(err)
	}
	if err := os.Chmod(k.File(), 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := k.Remove("groq"); !ok || err != nil {
		t.Error(ok, err)
	}
	if b, err := os.ReadFile(k.File()); err != nil || strings.Contains(string(b), "made-up") {
		t.Errorf("%s, %v", b, err)
	}
}

// Programs that keep keys at the same time lose none.
func TestConcurrentStore(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	getenv := func(string) string { return "" }
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := Open(home, getenv).Store(fmt.Sprint("p", i), "made-up", true, now); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := Open(home, getenv).List(); err != nil || len(list) != 20 {
		t.Errorf("%d keys, %v", len(list), err)
	}
}

// A file that cannot be read is not taken for none.
func TestDamaged(t *testing.T) {
	for _, text := range []string{"", "{}", `{"keys": {"x": {"place": "file", "more": 1}}}`, `{"keys": {"x": {"place": "cloud"}}}`} {
		k := open(t, "")
		if err := os.MkdirAll(filepath.Dir(k.File()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(k.File(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := k.Find("x"); err == nil || key != "" {
			t.Errorf("%s: %q, %v", text, key, err)
		}
	}
}

// Where there is a keyring the key is there and not in the file.
func TestKeyring(t *testing.T) {
	keyring.MockInit()
	k := open(t, "tcp:host=127.0.0.1,port=1")
	other := open(t, "tcp:host=127.0.0.1,port=1")
	for _, x := range []*Keys{k, other} {
		if place, err := x.Store("groq", "key in "+x.home, false, now); place != StoreKeyring || err != nil {
			t.Fatal(place, err)
		}
	}
	if b, err := os.ReadFile(k.File()); err != nil || strings.Contains(string(b), "key in") {
		t.Errorf("%s, %v", b, err)
	}
	if key, err := k.Find("groq"); key != "key in "+k.home || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if place, err := k.Store("groq", "in the file", true, now); place != StoreFile || err != nil {
		t.Error(place, err)
	}
	if _, err := keyring.Get(service, k.user("groq")); !errors.Is(err, keyring.ErrNotFound) {
		t.Errorf("the old key is still in the keyring: %v", err)
	}
	if ok, err := other.Remove("groq"); !ok || err != nil {
		t.Error(ok, err)
	}
	if key, err := other.Find("groq"); key != "" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	keyring.MockInitWithError(errors.New("locked"))
	defer keyring.MockInit()
	if place, err := other.Store("groq", "k", false, now); place != StoreFile || err != nil {
		t.Error(place, err)
	}
}

// A keyring that loses a key or does not open is told.
func TestKeyringFails(t *testing.T) {
	keyring.MockInit()
	k := open(t, "tcp:host=127.0.0.1,port=1")
	if _, err := k.Store("xai", "k", false, now); err != nil {
		t.Fatal(err)
	}
	keyring.MockInitWithError(errors.New("locked"))
	defer keyring.MockInit()
	if key, err := k.Find("xai"); key != "" || err == nil || !strings.Contains(err.Error(), "cannot read the key of xai from the keyring: locked") {
		t.Errorf("%q, %v", key, err)
	}
	if ok, err := k.Remove("xai"); ok || err == nil {
		t.Error(ok, err)
	}
}

func TestHasKeyring(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "bus")
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for bus, want := range map[string]bool{
		"": false, "autolaunch:": false, "unix:path=/nowhere/bus": false, "unix:path=" + socket: true, "unix:path=" + socket + ",guid=1": true,
		"unix:abstract=/tmp/dbus-x": true,
	} {
		if got := open(t, bus).HasKeyring(); got != want {
			t.Errorf("%q: %v", bus, got)
		}
	}
}
