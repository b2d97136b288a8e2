package listen

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSocket(t *testing.T) {
	long := "/" + strings.Repeat("a", 100)
	for _, tt := range []struct{ home, runtime, want string }{
		{"/h", "", "/h/run/daemon.sock"},
		{"/h", "/run/user/1", "/h/run/daemon.sock"},
		{long[:maxSocketPath-len("/run/daemon.sock")], "", long[:maxSocketPath-len("/run/daemon.sock")] + "/run/daemon.sock"},
		{long[:maxSocketPath+1-len("/run/daemon.sock")], "", ""},
		{long, "/run/user/1", "/run/user/1/holdfast-"},
		{long, "relative", ""},
		{long, long, ""},
	} {
		got, err := SocketPath(tt.home, tt.runtime)
		var e *Error
		if tt.want == "" {
			if !errors.As(err, &e) || e.Hint() == "" {
				t.Errorf("%s: %q, %v", tt.home, got, err)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(got, tt.want) || len(got) > maxSocketPath {
			t.Errorf("%s: %q, %v", tt.home, got, err)
		}
	}
	a, _ := SocketPath(long, "/r")
	b, _ := SocketPath(long+"b", "/r")
	if a == b {
		t.Error("two homes have the same socket")
	}
}

func TestUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Unix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close() // as after a crash
	if l, err = Unix(t.Context(), path); err != nil {
		t.Fatal("cannot replace a left-over socket: ", err)
	}
	l.Close()
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Unix(t.Context(), path); err == nil {
		t.Error("a file was replaced")
	}
	if b, _ := os.ReadFile(path); string(b) != "mine" {
		t.Errorf("it is %q", b)
	}
}

// Other files that the process creates meanwhile have the intended mode.
func TestUnixOtherFiles(t *testing.T) {
	dir, done := t.TempDir(), make(chan struct{})
	go func() {
		defer close(done)
		for range 500 {
			l, err := Unix(t.Context(), filepath.Join(dir, "s"))
			if err != nil {
				t.Error(err)
				return
			}
			l.Close()
		}
	}()
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		default:
		}
		other := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(other, 0o700); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("a folder has %v, %v", info.Mode(), err)
		}
	}
}

func TestCheckTCP(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:0": true, "[::1]:1": true, "localhost:1": true, "LOCALHOST:1": true, "127.1.2.3:1": true, "[::ffff:127.0.0.1]:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "a.example:1": false, "localhost.example:1": false,
	} {
		if err := CheckTCP(address, false); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
		if err := CheckTCP(address, true); err != nil {
			t.Errorf("%s with TLS: %v", address, err)
		}
	}
	for _, bad := range []string{"", "127.0.0.1", "::1:1:2", "[::1"} {
		if err := CheckTCP(bad, true); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestLock(t *testing.T) {
	home := t.TempDir()
	if _, running, err := State(home); running || err != nil {
		t.Fatal(running, err)
	}
	l, err := Acquire(home)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(Dir(home)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if i, running, err := State(home); !running || i.PID != os.Getpid() || err != nil {
		t.Errorf("before it serves: %+v, %t, %v", i, running, err)
	}
	want := Info{PID: os.Getpid(), Started: time.Unix(1, 0).UTC(), Version: "v", Socket: "/s"}
	if err := l.WriteInfo(want); err != nil {
		t.Fatal(err)
	}
	if i, running, err := State(home); !running || i.Socket != "/s" || !i.Started.Equal(want.Started) || err != nil {
		t.Errorf("%+v, %t, %v", i, running, err)
	}
	var e *RunningError
	if _, err := Acquire(home); !errors.As(err, &e) || e.PID != os.Getpid() || !strings.Contains(err.Error(), "already running on "+home+" (pid ") {
		t.Errorf("a second daemon: %v", err)
	}
	l.Release()
	if i, running, err := State(home); running || err != nil {
		t.Errorf("%+v, %t, %v", i, running, err)
	}
	if _, err := os.Stat(infoFile(Dir(home))); !os.IsNotExist(err) {
		t.Error("the file still exists")
	}
}

// A symbolic link in place of the lock is not followed, because its target would be truncated.
func TestLockSymlink(t *testing.T) {
	home := t.TempDir()
	victim := filepath.Join(home, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(Dir(home), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(Dir(home), "daemon.lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(home); err == nil {
		t.Error("a symbolic link was accepted as the lock")
	}
	if b, _ := os.ReadFile(victim); string(b) != "mine" {
		t.Errorf("it is %q", b)
	}
}

// The files of a killed daemon are recognized and removed: cd-srv-043.
func TestStaleInfo(t *testing.T) {
	home := t.TempDir()
	l, err := Acquire(home)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.WriteInfo(Info{PID: 1 << 22}); err != nil {
		t.Fatal(err)
	}
	l.file.Close() // as when its process ends
	if i, running, err := State(home); running || err != nil {
		t.Errorf("%+v, %t, %v", i, running, err)
	}
	if _, err := os.Stat(infoFile(Dir(home))); !os.IsNotExist(err) {
		t.Error("the file still exists")
	}
	if l, err = Acquire(home); err != nil {
		t.Fatal(err)
	}
	l.Release()
}

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	if _, err := LoadCertificate(cert, key); err == nil {
		t.Error("missing files were accepted")
	}
	writeCertificate(t, cert, key, 1)
	c, err := LoadCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", c.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	serial := func() int64 {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Error(n)
	}
	writeCertificate(t, cert, key, 2)
	if n := serial(); n != 1 {
		t.Error("reloaded without a request")
	}
	if err := c.Reload(); err != nil || serial() != 2 {
		t.Error(err, serial())
	}
	if err := os.WriteFile(key, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(); err == nil || serial() != 2 {
		t.Error("an invalid file replaced the certificate")
	}
	if _, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is accepted")
	}
}

// writeCertificate writes a self-signed certificate for 127.0.0.1.
func writeCertificate(t *testing.T, cert, key string, serial int64) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	kder, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: kder}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
