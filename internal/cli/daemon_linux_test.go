package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/freeport"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// daemonProcess is `holdfast daemon` in a separate process.
type daemonProcess struct {
	t    *testing.T
	home string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

// beginDaemon starts a daemon and waits until it serves.
func beginDaemon(t *testing.T, home string, args ...string) *daemonProcess {
	t.Helper()
	d := &daemonProcess{t: t, home: home}
	d.start(holdfast(t, home, append([]string{"daemon"}, args...)...))
	return d
}

func (d *daemonProcess) start(c *exec.Cmd) {
	d.t.Helper()
	d.cmd = c
	c.Stderr = &d.log
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
}

// info waits until the daemon has published its address. Another process cannot signal that it is ready, so
// this and the functions below poll.
func (d *daemonProcess) info() listen.Info {
	d.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if i, running, err := listen.State(d.home); err == nil && running && i.Socket != "" {
			return i
		}
	}
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	d.t.Fatalf("no daemon: %s", d.log.String())
	return listen.Info{}
}

// ended waits for the end and returns the exit code.
func (d *daemonProcess) ended() int {
	d.t.Helper()
	err := d.cmd.Wait()
	if e, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		d.t.Fatal(e, err)
	}
	return d.cmd.ProcessState.ExitCode()
}

// holdfast is a command of this program in a separate process.
func holdfast(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Args = append([]string{"holdfast"}, args...)
	c.Env = []string{"HOLDFAST_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH"), "HOLDFAST_MODEL="}
	return c
}

func shortHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return home
}

// overSocket sends a request to the daemon over a unix socket.
func overSocket(t *testing.T, socket, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	res, err := client.Get("http://holdfast" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// A home has one daemon: a second one names the first and fails; a signal ends the daemon with code 0, and
// leftovers of a killed daemon do not block the next.
func TestDaemonLifecycle(t *testing.T) {
	home := shortHome(t)
	d := beginDaemon(t, home, "--listen", "127.0.0.1:0")
	i := d.info()
	if i.PID != d.cmd.Process.Pid || len(i.Addresses) != 1 {
		t.Errorf("%+v", i)
	}
	if status, body := overSocket(t, i.Socket, "/readyz"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	second := holdfast(t, home, "daemon")
	if out, err := second.CombinedOutput(); err == nil || second.ProcessState.ExitCode() != outcome.Busy.Exit || !strings.Contains(string(out), "already running on ") {
		t.Errorf("a second daemon: %s", out)
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := d.ended(); code != 0 {
		t.Errorf("exit code %d: %s", code, d.log.String())
	}
	for line := range strings.Lines(d.log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the log has %q", line)
		}
	}
	left, err := os.ReadDir(listen.Dir(home))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() == "daemon.sock" || e.Name() == "daemon.json" {
			t.Errorf("%s stayed", e.Name())
		}
	}

	killed := beginDaemon(t, home)
	killed.info()
	_ = killed.cmd.Process.Kill()
	_ = killed.cmd.Wait()
	status := holdfast(t, home, "daemon", "status")
	if out, err := status.Output(); err == nil || status.ProcessState.ExitCode() != outcome.NotFound.Exit || string(out) != "stopped\n" {
		t.Errorf("after a kill: %q, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(listen.Dir(home), "daemon.json")); !os.IsNotExist(err) {
		t.Errorf("what it left: %v", err)
	}
	again := beginDaemon(t, home)
	again.info()
	if out, err := holdfast(t, home, "daemon", "stop").CombinedOutput(); err != nil || string(out) != "stopped\n" {
		t.Errorf("stop: %s, %v", out, err)
	}
	again.ended()
}

// TCP beyond loopback needs TLS; a certificate is reloaded at SIGHUP.
func TestDaemonTLS(t *testing.T) {
	home := shortHome(t)
	cert, key := filepath.Join(home, "c.pem"), filepath.Join(home, "k.pem")
	selfSigned(t, cert, key, 1)
	d := beginDaemon(t, home, "--listen", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(d.info().Addresses[0], "https://"))
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Error(n)
	}
	selfSigned(t, cert, key, 2)
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); serial() != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the certificate is the old one")
		}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for path, want := range map[string]int{"/healthz": 200, "/v1/info": 401} {
		res, err := client.Get("https://127.0.0.1:" + port + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	if code := d.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func selfSigned(t *testing.T, cert, key string, serial int64) {
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

// systemd-analyze accepts the units.
func TestUnits(t *testing.T) {
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		testneed.Need(t, "no systemd-analyze on the PATH: apt-get install systemd")
	}
	dir := t.TempDir()
	for name, args := range map[string][]string{"holdfast.service": nil, "holdfast.socket": {"--socket"}} {
		out, err := holdfast(t, dir, append([]string{"daemon", "unit"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(verify, "verify", "--user", "--man=no", filepath.Join(dir, "holdfast.service"), filepath.Join(dir, "holdfast.socket"))
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	if out, err := c.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// A socket of systemd starts the daemon with its first client, and stays after it ends.
func TestSocketActivation(t *testing.T) {
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		testneed.Need(t, "no systemd-socket-activate on the PATH: apt-get install systemd")
	}
	home := shortHome(t)
	if err := os.Mkdir(listen.Dir(home), 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(listen.Dir(home), "daemon.sock")
	program := filepath.Join(home, "holdfast") // the test binary finds its role by its name
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(home, "notify")})
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	d := &daemonProcess{t: t, home: home}
	c := exec.Command(activate, "-l", socket, "-l", "127.0.0.1:"+strconv.Itoa(freeport.Pick(t)), "-E", "HOLDFAST_HOME", "-E", "HOME", "-E", "NOTIFY_SOCKET", program, "daemon")
	c.Env = []string{"HOLDFAST_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH"), "NOTIFY_SOCKET=" + filepath.Join(home, "notify")}
	d.start(c)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("no socket")
		}
	}
	if status, body := overSocket(t, socket, "/v1/info"); status != http.StatusOK || !strings.Contains(body, `"via":"unix"`) {
		t.Errorf("%d %s", status, body)
	}
	if i := d.info(); i.Socket != socket || len(i.Addresses) != 1 || !strings.HasPrefix(i.Addresses[0], "http://127.0.0.1:") {
		t.Errorf("%+v", i)
	}
	notified := func() string {
		b := make([]byte, 200)
		_ = notify.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := notify.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	if got := notified(); got != "READY=1" {
		t.Errorf("%q", got)
	}
	_ = c.Process.Signal(syscall.SIGHUP)
	if got := notified(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") || strings.HasSuffix(got, "=0") {
		t.Errorf("%q", got)
	}
	if got := notified(); got != "READY=1" {
		t.Errorf("%q", got)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if got := notified(); got != "STOPPING=1" {
		t.Errorf("%q", got)
	}
	if code := d.ended(); code != 0 {
		t.Errorf("exit code %d: %s", code, d.log.String())
	}
	if _, err := os.Stat(socket); err != nil {
		t.Error("systemd's socket was removed: ", err)
	}
}

// A daemon with --exit-idle ends by itself, but not while a client is connected.
func TestDaemonExitsIdle(t *testing.T) {
	home := shortDir(t)
	logFile := filepath.Join(home, "log")
	d := beginDaemon(t, home, "--exit-idle=300ms", "--log-file="+logFile)
	conn, err := net.Dial("unix", d.info().Socket)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	go func() { ended <- d.ended() }()
	select {
	case code := <-ended:
		t.Errorf("it ended with %d although a client is connected", code)
	case <-time.After(time.Second): // longer than the time without use
	}
	status := holdfast(t, home, "daemon", "status")
	if out, err := status.CombinedOutput(); err != nil || !strings.Contains(string(out), "when nothing has used it for 300ms") {
		t.Errorf("%v: %s", err, out)
	}
	_ = conn.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d: %s", code, d.log.String())
	}
	if b, err := os.ReadFile(logFile); err != nil || !strings.Contains(string(b), "nothing has used the daemon") {
		t.Errorf("%v: %s", err, b)
	}
}
