package supervisor

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// A program that opens connections to the proxy without end uses only a limited number of the supervisor's
// descriptors.
func TestRelayLimit(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "egress")
	up, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	go func() {
		for {
			c, err := up.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	f := &forwarder{from: "127.0.0.1:0", to: socket}
	defer f.close()
	if !f.ensureListening() {
		t.Fatal("it does not listen")
	}
	open := func() (net.Conn, error) {
		c, err := net.Dial("tcp", f.l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = c.Write([]byte("x"))
		_ = c.SetReadDeadline(time.Now().Add(patience))
		_, err = c.Read(make([]byte, 1))
		return c, err
	}
	var last net.Conn
	for i := range maxRelays {
		if last, err = open(); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	var late net.Error
	if _, err := open(); err == nil || errors.As(err, &late) && late.Timeout() {
		t.Errorf("one too many: %v", err)
	}
	_ = last.Close()
	wait(t, "there is room again", func() bool { _, err := open(); return err == nil })
}
