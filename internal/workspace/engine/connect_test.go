package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake is an engine with fixed answers: path (without the version) to JSON.
func fake(t *testing.T, api string, answers map[string]string) (host string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", api)
		w.Header().Set("Ostype", "linux")
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/_ping" {
			if answers["os"] != "" {
				w.Header().Set("Ostype", answers["os"])
			}
			return
		}
		_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		answer, ok := answers[rest]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"message":"page not found"}`
		}
		if status, body, ok := strings.Cut(answer, "|"); ok {
			w.WriteHeader(map[string]int{"403": 403, "409": 409, "500": 500, "503": 503, "304": 304}[status])
			answer = body
		}
		_, _ = w.Write([]byte(answer))
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "unix://" + path
}

// hideEngines hides the engines of this machine.
func hideEngines(t *testing.T) (home string) {
	home = t.TempDir()
	for k, v := range map[string]string{
		"HOME": home, "XDG_RUNTIME_DIR": filepath.Join(home, "run"), "DOCKER_HOST": "", "DOCKER_CONTEXT": "", "DOCKER_CONFIG": "", "DOCKER_TLS_VERIFY": "", "DOCKER_CERT_PATH": "",
	} {
		t.Setenv(k, v)
	}
	return home
}

func TestConnectNames(t *testing.T) {
	home := hideEngines(t)
	good := fake(t, "1.44", nil)
	write(t, filepath.Join(home, ".docker/config.json"), `{"currentContext":"mine"}`)
	sum := sha256.Sum256([]byte("mine"))
	meta := filepath.Join(home, ".docker/contexts/meta", hex.EncodeToString(sum[:]), "meta.json")
	write(t, meta, `{"Name":"mine","Endpoints":{"docker":{"Host":"`+good+`"}}}`)
	absent := "unix://" + filepath.Join(home, "absent")

	for _, tt := range []struct {
		name, argument, host, context string
		want                          string // the host, or a part of the error
	}{
		{"argument", good, absent, "", good},
		{"DOCKER_HOST", "", good, "none", good},
		{"DOCKER_CONTEXT", "", "", "mine", good},
		{"the current context", "", "", "", good},
		{"an unknown context", "", "", "other", "unknown Docker context other (set by DOCKER_CONTEXT)"},
		{"a missing host", "", absent, "", "no container engine answers: no such file or directory"},
		{"no address", "", "/var/run/docker.sock", "", "it is not an address"},
		{"a host elsewhere", "", "ssh://me@there", "", "an engine on another machine cannot mount them"},
		{"a strange one", "", "ftp://there", "", "only unix, npipe and tcp"},
		{"nothing at the port", "", "tcp://127.0.0.1:1", "", "nothing listens there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", tt.host)
			t.Setenv("DOCKER_CONTEXT", tt.context)
			e, err := Connect(t.Context(), tt.argument)
			if err != nil {
				f, ok := errors.AsType[*Error](err)
				if !ok || !errors.Is(err, ErrNoEngine) || f.Hint() == "" || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v (hint %q); want %s", err, f.Hint(), tt.want)
				}
				return
			}
			if e.Host() != tt.want {
				t.Errorf("%s, want %s", e.Host(), tt.want)
			}
			_ = e.Close()
		})
	}
	write(t, meta, `{"Name":`)
	if _, err := Connect(t.Context(), ""); !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), meta) {
		t.Errorf("a broken context: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Without an engine, the error says so and has a hint.
func TestConnectFinds(t *testing.T) {
	home := hideEngines(t)
	if _, err := os.Stat("/var/run/docker.sock"); err == nil || runtime.GOOS != "linux" {
		t.Skip("this machine may have an engine of its own, which would be found first")
	}
	_, err := Connect(t.Context(), "")
	if f, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNoEngine) || !strings.Contains(f.Hint(), "apt-get install") {
		t.Errorf("%v", err)
	}
	dead := filepath.Join(home, "run/docker.sock")
	write(t, dead, "")
	_, err = Connect(t.Context(), "")
	if !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), dead) {
		t.Errorf("one that is dead: %v", err)
	}
	podman := filepath.Join(home, "run/podman/podman.sock")
	if err := os.MkdirAll(filepath.Dir(podman), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(strings.TrimPrefix(fake(t, "1.41", nil), "unix://"), podman); err != nil {
		t.Fatal(err)
	}
	e, err := Connect(t.Context(), "")
	if err != nil || e.Host() != "unix://"+podman {
		t.Errorf("%v, %v", e, err)
	}
}

func TestUsualHosts(t *testing.T) {
	env := func(k string) string { return map[string]string{"HOME": "/home/me"}[k] }
	for system, want := range map[string][]string{
		"linux":   {"unix:///var/run/docker.sock", "unix:///run/user/1000/docker.sock", "unix:///run/user/1000/podman/podman.sock", "unix:///home/me/.docker/desktop/docker.sock"},
		"darwin":  {"unix:///var/run/docker.sock", "unix:///home/me/.docker/run/docker.sock", "unix:///home/me/.orbstack/run/docker.sock", "unix:///home/me/.colima/default/docker.sock"},
		"windows": {"npipe:////./pipe/docker_engine"},
	} {
		all := strings.Join(usualHosts(system, env, 1000), " ") + " "
		for _, w := range want {
			if !strings.Contains(all, w+" ") {
				t.Errorf("%s: no %s in %s", system, w, all)
			}
		}
	}
	if all := usualHosts("linux", func(string) string { return "" }, 0); all[0] != "unix:///var/run/docker.sock" || strings.Contains(strings.Join(all, " "), "unix://.") {
		t.Errorf("%q", all)
	}
}

// An engine that is too old, runs another system, or does not answer is rejected.
func TestConnectRefuses(t *testing.T) {
	hideEngines(t)
	for host, want := range map[string]string{
		fake(t, "1.40", nil): "its API version is 1.40",
		fake(t, "1.24", nil): "1.24",
		fake(t, "1.44", map[string]string{"os": "windows"}): "runs windows containers",
	} {
		if _, err := Connect(t.Context(), host); !errors.Is(err, ErrNoEngine) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	silent, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, "unix://"+silent.Addr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestInfoOtherEngines(t *testing.T) {
	const limits = `"MemoryLimit":true,"PidsLimit":true}`
	for _, tt := range []struct {
		name, version, info string
		want                Info
	}{
		{"Docker", `{"Version":"28.1"}`, `{"NCPU":4,"MemTotal":8,"CgroupVersion":"2","SecurityOptions":["name=seccomp,profile=default"],` + limits, Info{Name: "Docker 28.1", CPUs: 4, Memory: 8, Cgroup: "2"}},
		{"remapped", `{"Version":"28.1"}`, `{"SecurityOptions":["name=seccomp,profile=default","name=userns"],` + limits, Info{Name: "Docker 28.1", UserNS: "host"}},
		{"rootless Docker", `{"Version":"28.1"}`, `{"SecurityOptions":["name=rootless"]}`, Info{Name: "Docker 28.1", Rootless: true, Unusable: "rootless Docker"}},
		{"Podman", `{"Version":"4.3.1","Components":[{"Name":"Podman Engine","Version":"4.3.1"}]}`, `{"SecurityOptions":["name=seccomp,profile=default"],` + limits, Info{Name: "Podman 4.3.1"}},
		{"rootless Podman", `{"Version":"4.3.1","Components":[{"Name":"Podman Engine","Version":"4.3.1"}]}`, `{"SecurityOptions":["name=seccomp","name=rootless"],` + limits, Info{Name: "Podman 4.3.1", Rootless: true, UserNS: "keep-id"}},
		{"no memory", `{"Version":"20.10"}`, `{"SecurityOptions":["name=seccomp,profile=default"],"PidsLimit":true}`, Info{Name: "Docker 20.10", Unusable: "the engine cannot enforce memory limits"}},
		{"no processes", `{"Version":"20.10"}`, `{"SecurityOptions":["name=seccomp,profile=default"],"MemoryLimit":true}`, Info{Name: "Docker 20.10", Unusable: "the engine cannot limit the number of processes"}},
		{"no filter", `{"Version":"20.10"}`, `{"SecurityOptions":["name=apparmor"],` + limits, Info{Name: "Docker 20.10", Unusable: "the engine does not filter system calls"}},
		{"a filter taken away", `{"Version":"20.10"}`, `{"SecurityOptions":["name=seccomp,profile=unconfined"],` + limits, Info{Name: "Docker 20.10", Unusable: "the engine does not filter system calls"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := Connect(t.Context(), fake(t, "1.41", map[string]string{"version": tt.version, "info": tt.info}))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			got, err := e.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got.Unusable, tt.want.Unusable) || (got.Unusable == "") != (tt.want.Unusable == "") {
				t.Errorf("%q", got.Unusable)
			}
			if (got.Advice == "") != (got.Unusable == "") {
				t.Errorf("%q and no advice", got.Unusable)
			}
			got.Unusable, got.Advice, tt.want.Unusable, tt.want.API = "", "", "", "1.41"
			if got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}

// An engine in a virtual machine may filter system calls only when configured.
func TestInfoUnconfined(t *testing.T) {
	e, err := Connect(t.Context(), fake(t, "1.45", map[string]string{
		"version": `{"Version":"26.1"}`, "info": `{"SecurityOptions":["name=seccomp,profile=unconfined"],"MemoryLimit":true,"PidsLimit":true}`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if got, err := e.Info(t.Context()); err != nil || got.Unusable != "" || got.Seccomp != "builtin" {
		t.Errorf("%+v, %v", got, err)
	}
	request := Spec{Seccomp: "builtin"}.request()
	if got := request.HostConfig.SecurityOpt; !slices.Equal(got, []string{"no-new-privileges", "seccomp=builtin"}) {
		t.Errorf("%q", got)
	}
}

// Every error answer of an engine maps to one of the package's errors.
func TestAnswers(t *testing.T) {
	host := fake(t, "1.41", map[string]string{
		"containers/a/json":  "500|" + `{"message":"something broke"}`,
		"containers/b/json":  "503|" + `{"message":"not now"}`,
		"containers/c/json":  "403|" + `{"message":"no"}`,
		"containers/d/json":  "409|" + `{"message":"it is being removed"}`,
		"containers/f/json":  `{"Id":"f","State":{"Status":"stopped"}}`,
		"containers/g/json":  `{`,
		"containers/create":  "409|" + `{"message":"Conflict. The container name is already in use"}`,
		"containers/f/start": "304|",
	})
	e, err := Connect(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, want := range map[string]error{"a": ErrRefused, "b": ErrRefused, "c": ErrRefused, "d": ErrConflict, "e": ErrNotFound} {
		if _, err := e.Inspect(t.Context(), name); !errors.Is(err, want) || !strings.Contains(err.Error(), "inspect container "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := e.Inspect(t.Context(), "f"); err != nil || c.State != Exited {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := e.Inspect(t.Context(), "g"); err == nil {
		t.Error("half an answer")
	}
	if err := e.Start(t.Context(), "f"); err != nil {
		t.Error(err)
	}
	if _, err := e.Create(t.Context(), Spec{Image: "x"}); !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Inspect(ctx, "f"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// After the engine has ended, every call returns ErrNoEngine.
func TestEngineEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.Symlink(strings.TrimPrefix(fake(t, "1.41", nil), "unix://"), path); err != nil {
		t.Fatal(err)
	}
	e, err := Connect(t.Context(), "unix://"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_ = e.Close() // closes the connections
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"inspect": func() error { _, err := e.Inspect(t.Context(), "x"); return err },
		"create":  func() error { _, err := e.Create(t.Context(), Spec{Image: "x"}); return err },
		"start":   func() error { return e.Start(t.Context(), "x") },
		"stop":    func() error { return e.Stop(t.Context(), "x", 0) },
		"remove":  func() error { return e.Remove(t.Context(), "x") },
		"list":    func() error { _, err := e.List(t.Context(), nil); return err },
		"image":   func() error { _, err := e.Image(t.Context(), "x"); return err },
		"build": func() error {
			_, err := e.Build(t.Context(), strings.NewReader(""), BuildOptions{Ref: "x"})
			return err
		},
		"exec": func() error { _, err := e.Exec(t.Context(), "x", ExecSpec{User: "1:1"}); return err },
		"info": func() error { _, err := e.Info(t.Context()); return err },
	} {
		if err := call(); !errors.Is(err, ErrNoEngine) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
