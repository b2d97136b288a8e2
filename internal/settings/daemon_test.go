package settings

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestLoadDaemon(t *testing.T) {
	dir := t.TempDir()
	home, etc := filepath.Join(dir, "home"), filepath.Join(dir, "etc")
	for _, d := range []string{home, etc} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(dir, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := &Options{Home: home, User: dir, Managed: filepath.Join(etc, "settings.json")}
	if d, err := LoadDaemon(o); err != nil || !reflect.DeepEqual(d, &Daemon{}) {
		t.Errorf("nobody says: %+v, %v", d, err)
	}
	write(home, `{"daemon": {"listen": ["127.0.0.1:1"], "tlsCert": "c.pem", "tlsKey": "~/k.pem", "allowHosts": ["a"], "allowOrigins": ["https://a"], "drain": "5s", "storeWait": "1m", "logFormat": "text"}}`)
	drain, wait := 5*time.Second, time.Minute
	want := &Daemon{[]string{"127.0.0.1:1"}, filepath.Join(home, "c.pem"), filepath.Join(dir, "k.pem"), []string{"a"}, []string{"https://a"}, &drain, &wait, "text"}
	if d, err := LoadDaemon(o); err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("the user: %+v, %v", d, err)
	}
	write(etc, `{"daemon": {"listen": ["127.0.0.1:2"], "drain": "0s"}}`)
	d, err := LoadDaemon(o)
	if err != nil || d.Listen[0] != "127.0.0.1:2" || *d.Drain != 0 || d.LogFormat != "text" || d.TLSCert == "" {
		t.Errorf("the administrator: %+v, %v", d, err)
	}
	for text, want := range map[string]string{
		`{"daemon": {"port": 1}}`:                    `unknown key "daemon.port"`,
		`{"daemon": {"listen": "127.0.0.1:1"}}`:      "daemon.listen is a text, want a list",
		`{"daemon": {"listen": [""]}}`:               "daemon.listen[0] is empty",
		`{"daemon": {"drain": "soon"}}`:              `daemon.drain: "soon" is not a time`,
		`{"daemon": {"drain": "-1s"}}`:               `daemon.drain: "-1s" is not a time`,
		`{"daemon": {"logFormat": "xml"}}`:           `daemon.logFormat: unknown value "xml"`,
		`{"daemon": {"tlsCert": "~other/c.pem"}}`:    "the home of another user is not known",
		`{"daemon": []}`:                             "daemon is a list, want an object",
		`{"daemon": {"drain": "1s", "drain": "2s"}}`: "duplicate key",
		`{"demon": {}}`:                              `unknown key "demon"`,
	} {
		write(home, text)
		if _, err := LoadDaemon(o); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A project's folder, which others fill, has no say in who reaches the daemon.
func TestDaemonOfAProject(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "p")
	if err := os.MkdirAll(filepath.Join(project, ".holdfast"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, ".holdfast", "settings.json"), []byte(`{"daemon": {"listen": ["0.0.0.0:1"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := &Options{Home: filepath.Join(dir, "home"), Cwd: project, Managed: filepath.Join(dir, "none.json")}
	if _, err := Load(o); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "only user and managed settings") {
		t.Errorf("%v", err)
	}
}
