//go:build linux && (amd64 || arm64)

package kernel

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/cgroup"
)

func TestProbe(t *testing.T) {
	for _, m := range Probe() {
		if !m.Available || m.Name == "" || m.Detail == "" {
			t.Errorf("%+v", m)
		}
	}
}

// weaker prepares a jail as if the kernel refused namespaces.
func weaker(t *testing.T, p *Policy) *Jail {
	t.Helper()
	was := Namespaces
	Namespaces = func() error { return os.ErrPermission }
	defer func() { Namespaces = was }()
	j, err := Prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func TestWeaker(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	write(t, outside+"/file", "outside")
	write(t, work+"/secret/key", "hidden")
	write(t, work+"/open/key", "shown")
	j := weaker(t, &Policy{Read: []string{"/"}, Write: []string{work}, Hide: []string{work + "/secret"}, Weaker: true})
	if !j.Weaker() {
		t.Fatal("it is not the weaker one")
	}
	for _, tt := range []struct {
		name, script, want string
		fails              bool
	}{
		{"read", "cat " + work + "/open/key", "shown", false},
		{"write", "echo x > " + work + "/open/key && cat " + work + "/open/key", "x\n", false},
		{"write outside", "echo x > " + outside + "/file", "ermission denied", true},
		{"hidden", "cat secret/key", "ermission denied", true},
		{"temporary files", "echo x > " + j.TempDir() + "/x; cat " + j.TempDir() + "/x", "x\n", false},
		{"sessions", "setsid -w true", "not permitted", true},
		{"namespaces", "unshare -Ur true", "not permitted", true},
		{"capabilities", "grep CapEff /proc/self/status", "CapEff:\t0000000000000000\n", false},
		{"sockets", "bash -c 'exec 5<>/dev/tcp/127.0.0.1/1'", "socket: ", true},
		{"signals", "kill -0 " + itoa(os.Getpid()), "not permitted", true},
		{"status", "exit 9", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := sh(t, j, work, tt.script)
			if !strings.Contains(got.out, tt.want) || (got.Status != 0) != tt.fails {
				t.Errorf("%s: %q, status %d; want %q", tt.script, got.out, got.Status, tt.want)
			}
		})
	}
	t.Run("leftovers", func(t *testing.T) {
		proc, r := start(t, j, Attr{Dir: work}, "sleep 100 & exit 4")
		if s, err := proc.Wait(); err != nil || s.Status.ExitStatus() != 4 {
			t.Error(s, err)
		}
		if _, err := io.ReadAll(r); err != nil { // no process has it open any more
			t.Error(err)
		}
	})
	for _, p := range []Policy{{Network: ProxyNetwork}} {
		p.Weaker = true
		was := Namespaces
		Namespaces = func() error { return os.ErrPermission }
		_, err := Prepare(&p)
		Namespaces = was
		if err == nil {
			t.Errorf("%+v: accepted", p)
		}
	}
}

func TestNested(t *testing.T) {
	work := t.TempDir()
	for _, nested := range []bool{false, true} {
		j, err := Prepare(&Policy{Read: []string{"/"}, Write: []string{work}, Nested: nested})
		if err != nil {
			t.Fatal(err)
		}
		got := sh(t, j, work, "unshare -Urpfn --mount-proc=/nowhere true 2>/dev/null; unshare -Urn sh -c 'id -u; echo x > /proc/sys/kernel/core_pattern; echo x > /etc/x'")
		if nested != strings.HasPrefix(got.out, "0\n") || strings.Count(got.out, "Read-only")+strings.Count(got.out, "ermission denied")+strings.Count(got.out, "not permitted") == 0 {
			t.Errorf("nested %v: %q", nested, got.out)
		}
		j.Close()
	}
}

func TestTemp(t *testing.T) {
	work, temp := t.TempDir(), t.TempDir()
	j, err := Prepare(&Policy{Read: []string{"/"}, Write: []string{work}, Temp: temp})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	sh(t, j, work, "echo kept > /tmp/x")
	if got := sh(t, j, work, "cat /tmp/x /var/tmp/x"); got.out != "kept\nkept\n" {
		t.Errorf("%q", got.out)
	}
	if b, err := os.ReadFile(temp + "/x"); err != nil || string(b) != "kept\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestLimits(t *testing.T) {
	work := t.TempDir()
	j, err := Prepare(&Policy{
		Read: []string{"/"}, Write: []string{work}, FileSize: 1 << 20, TempSize: 1 << 20,
		Limits: cgroup.Limits{Memory: 64 << 20, Processes: 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, tt := range []struct{ name, script, want string }{
		{"file size", "head -c 2M /dev/zero > big; stat -c %s big", "1048576\n"},
		{"temporary files", "for i in 1 2 3; do head -c 1M /dev/zero > /tmp/$i; done", "No space left"},
		{"processes", "for i in $(seq 50); do sleep 10 & done", "fork"},
		{"core", "ulimit -Hc", "0\n"},
	} {
		if got := sh(t, j, work, tt.script); !strings.Contains(got.out, tt.want) {
			t.Errorf("%s: %q, %v", tt.name, got.out, got.Status)
		}
	}
	got := sh(t, j, work, "head -c 1G /dev/zero | tail -n 1 | wc -c")
	if got.out == "1073741824\n" {
		t.Errorf("memory: %q, %v", got.out, got.Status)
	}
	if got := sh(t, j, work, "echo still here"); got.out != "still here\n" {
		t.Errorf("afterwards: %q", got.out)
	}
}
