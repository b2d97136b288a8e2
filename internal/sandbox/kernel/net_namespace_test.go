//go:build linux && (amd64 || arm64)

package kernel

import (
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// spacesOf runs a command that prints its namespaces, in the order of names.
func spacesOf(t *testing.T, j *Jail, names ...string) []string {
	t.Helper()
	proc, r := start(t, j, Attr{Dir: "/"}, "cd /proc/self/ns && readlink "+strings.Join(names, " "))
	state, err := proc.Wait()
	out, readErr := io.ReadAll(r)
	if err != nil || readErr != nil || state.Status != 0 {
		t.Fatal(state, err, readErr, string(out))
	}
	return strings.Fields(string(out))
}

func prepareShared(t *testing.T, p Policy) *Jail {
	t.Helper()
	if mustReexec {
		t.Skip("the race detector does not allow it")
	}
	p.Read = []string{"/"}
	j, err := Prepare(&p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func TestNamespacesSharedFromSecondCommand(t *testing.T) {
	j := prepareShared(t, Policy{})
	names := []string{"user", "net", "uts", "mnt", "pid", "ipc"}
	runs := [][]string{spacesOf(t, j, names...), spacesOf(t, j, names...), spacesOf(t, j, names...)}
	for i, name := range names {
		host, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			t.Fatal(err)
		}
		first, second, third := runs[0][i], runs[1][i], runs[2][i]
		for _, space := range []string{first, second, third} {
			if space == host {
				t.Errorf("%s: a command is in our own", name)
			}
		}
		if name == "mnt" || name == "pid" || name == "ipc" {
			continue // these belong to one command; their numbers may be reused
		}
		if second != third {
			t.Errorf("%s: the second command is in %s and the third in %s", name, second, third)
		}
	}
}

// Concurrent commands share the user, network and UTS namespaces and nothing else.
func TestSharedNamespacesIsolation(t *testing.T) {
	j := prepareShared(t, Policy{})
	spacesOf(t, j, "net")
	names := []string{"net", "user", "mnt", "pid", "ipc"}
	script := "cd /proc/self/ns && readlink " + strings.Join(names, " ") + "; echo ready; read line <&3; ls -d /proc/[0-9]* | wc -l"
	type side struct {
		proc *Process
		out  *os.File
		gate *os.File
	}
	var sides []side
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		proc, out := start(t, j, Attr{Dir: "/", Files: []*os.File{r}}, script)
		r.Close()
		sides = append(sides, side{proc, out, w})
	}
	var output [2]string
	for i, s := range sides { // both have printed their namespaces before either continues
		var text strings.Builder
		for buf := make([]byte, 256); !strings.Contains(text.String(), "ready"); {
			n, err := s.out.Read(buf)
			if err != nil {
				t.Fatal(err, text.String())
			}
			text.Write(buf[:n])
		}
		output[i] = text.String()
	}
	for i, s := range sides {
		s.gate.Close()
		if _, err := s.proc.Wait(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(s.out)
		if err != nil {
			t.Fatal(err)
		}
		output[i] += string(rest)
	}
	a, b := strings.Fields(output[0]), strings.Fields(output[1])
	for i, name := range names {
		if shared := name == "net" || name == "user"; (a[i] == b[i]) != shared {
			t.Errorf("%s: %s and %s", name, a[i], b[i])
		}
	}
	for _, last := range []string{a[len(a)-1], b[len(b)-1]} {
		if !slices.Contains([]string{"3", "4", "5"}, last) { // init, the shell, ls, wc
			t.Errorf("a command sees %s processes", last)
		}
	}
}

func TestSharedNetworkEmpty(t *testing.T) {
	j := prepareShared(t, Policy{Write: []string{t.TempDir()}})
	spacesOf(t, j, "net")
	proc, r := start(t, j, Attr{Dir: "/"}, `
		grep -c : /proc/net/dev; cat /proc/net/tcp /proc/net/udp | grep -c -v local_address; cat /proc/net/route | wc -l
		grep Cap /proc/self/status | grep -v 000000000000000 | grep -v Bnd; cat /proc/self/setgroups; grep -c . /proc/self/uid_map`)
	if _, err := proc.Wait(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(string(out)), " "); got != "1 0 0 deny 1" { // lo, no socket, no route
		t.Errorf("it says %q", got)
	}
}

// Commands that could reach another one get their own namespaces.
func TestSharedNamespacesExceptions(t *testing.T) {
	for name, p := range map[string]Policy{
		"proxy": {Network: ProxyNetwork}, "own sockets": {Unix: UnixOwnOnly},
		"every socket": {Unix: UnixAll}, "nested": {Nested: true},
	} {
		t.Run(name, func(t *testing.T) {
			j := prepareShared(t, p)
			if j.shares() {
				t.Fatal("its commands share namespaces")
			}
			spacesOf(t, j, "net")
			a := spacesOf(t, j, "net")
			if host, _ := os.Readlink("/proc/self/ns/net"); a[0] == host {
				t.Error("a command is in our network")
			}
			if j.sharedSpaces.spaces != nil {
				t.Error("there are shared namespaces")
			}
		})
	}
	j := prepareShared(t, Policy{})
	j.rlimits = []rlimit{{unix.RLIMIT_NPROC, 10}}
	if j.shares() {
		t.Error("processes of all commands would be counted together")
	}
}

// Commands of a jail with a localhost share it from the first one on, unless only one command will run;
// another jail has a different one.
func TestSharedLocalhost(t *testing.T) {
	j, other := prepareShared(t, Policy{LocalBind: true}), prepareShared(t, Policy{LocalBind: true})
	a, b := spacesOf(t, j, "net"), spacesOf(t, j, "net")
	if a[0] != b[0] {
		t.Errorf("the first command is in %s, the second in %s", a, b)
	}
	if c := spacesOf(t, other, "net"); c[0] == a[0] {
		t.Error("two jails share a localhost")
	}
	single := prepareShared(t, Policy{LocalBind: true, Single: true})
	spacesOf(t, single, "net")
	if single.sharedSpaces.spaces != nil {
		t.Error("there are shared namespaces for one command")
	}
	proc, r := start(t, j, Attr{Dir: "/", PrivateLocalhost: true}, "readlink /proc/self/ns/net")
	_, err := proc.Wait()
	if out, readErr := io.ReadAll(r); err != nil || readErr != nil || strings.TrimSpace(string(out)) == a[0] {
		t.Errorf("a command that is alone is in %s: %v, %v", out, err, readErr)
	}
}

// Commands that share a localhost each have a proxy listener at a different address.
func TestSharedLocalhostProxies(t *testing.T) {
	j := prepareShared(t, Policy{LocalBind: true, Network: ProxyNetwork})
	var nets []string
	for _, at := range []string{"127.83.0.1", "127.83.0.2"} {
		served := make(chan string, 1)
		proc, r := start(t, j, Attr{Dir: "/", Proxy: netip.MustParseAddr(at), Serve: func(l net.Listener) {
			served <- l.Addr().String()
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				io.WriteString(c, "proxy\n")
				c.Close()
			}
		}}, "readlink /proc/self/ns/net; bash -c 'read line </dev/tcp/"+at+"/3128; echo $line'")
		_, err := proc.Wait()
		out, readErr := io.ReadAll(r)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		if got := <-served; got != at+":3128" {
			t.Errorf("the listener is at %s", got)
		}
		space, output, _ := strings.Cut(string(out), "\n")
		if output != "proxy\n" {
			t.Errorf("%s: %q", at, out)
		}
		nets = append(nets, space)
	}
	if nets[0] != nets[1] {
		t.Errorf("they are in %s", nets)
	}
}

// A jail that replaces another one takes over its localhost, even if that one is closed first. Jails without
// a localhost share nothing.
func TestNamespaceReused(t *testing.T) {
	old, j := prepareShared(t, Policy{LocalBind: true}), prepareShared(t, Policy{LocalBind: true})
	a := spacesOf(t, old, "net")
	j.TakeNamespacesFrom(old)
	old.Close()
	if b := spacesOf(t, j, "net"); a[0] != b[0] {
		t.Errorf("the commands of the old jail are in %s, those of the new one in %s", a, b)
	}
	spaces := j.sharedSpaces.spaces
	j.Close()
	if j.sharedSpaces.spaces != nil || spaces[0].Close() == nil {
		t.Error("the shared namespaces are still open")
	}
	for _, p := range [][2]Policy{{{}, {}}, {{LocalBind: true}, {}}, {{}, {LocalBind: true}}, {{LocalBind: true}, {LocalBind: true, Network: ProxyNetwork}}} {
		old, j := prepareShared(t, p[0]), prepareShared(t, p[1])
		if j.TakeNamespacesFrom(old); j.sharedSpaces == old.sharedSpaces {
			t.Errorf("%+v: they share namespaces", p)
		}
	}
}

// If the shared namespaces cannot be entered, commands get their own.
func TestNamespaceClosed(t *testing.T) {
	j := prepareShared(t, Policy{})
	spacesOf(t, j, "net")
	in := spacesOf(t, j, "net")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	j.sharedSpaces.spaces[1].Close()
	j.sharedSpaces.spaces[1] = null
	out := spacesOf(t, j, "net")
	if host, _ := os.Readlink("/proc/self/ns/net"); out[0] == host || out[0] == in[0] {
		t.Errorf("a command is in %s, which is the namespace of this process or the shared one", out[0])
	}
	if !j.sharedSpaces.refused {
		t.Error("the shared namespaces are tried again")
	}
}

// A command that cannot be executed returns the same error as without shared namespaces, and leaves no
// process and no descriptor.
func TestSharedNamespacesCleanup(t *testing.T) {
	j := prepareShared(t, Policy{})
	spacesOf(t, j, "net")
	spacesOf(t, j, "net")
	waitUntil(t, "no process is left", func() bool { return children(t) == 0 })
	before := descriptorsOpen(t)
	for range 20 {
		proc, err := j.Start(&Attr{Path: "/absent", Args: []string{"absent"}, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proc.Wait(); err == nil || !strings.Contains(err.Error(), "execute /absent") {
			t.Fatal(err)
		}
	}
	spacesOf(t, j, "net")
	waitUntil(t, "no process is left", func() bool { return children(t) == 0 })
	waitUntil(t, "no descriptor is left", func() bool { return descriptorsOpen(t) <= before+1 }) // the pipe of the last command
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if j.sharedSpaces.spaces != nil {
		t.Error("the shared namespaces exist after Close")
	}
}

// waitUntil waits for a condition that becomes true some time after a command's end.
func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("in vain: ", what)
		}
	}
}

func descriptorsOpen(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children counts the child processes of this process, including zombies.
func children(t *testing.T) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err == nil {
			n += len(strings.Fields(string(b)))
		}
	}
	return n
}
