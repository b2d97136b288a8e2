// Package listen is where a daemon is: its folder, its lock, its socket, and the file
// that tells clients about it.
//
//	HOME/run/ (0700)   daemon.lock   held while a daemon runs; says its pid
//	                   daemon.sock   0600
//	                   daemon.json   [Info], for people and for `holdfast daemon status`
//	                   tokens.json   (package internal/daemon/auth)
//
// That a daemon runs is known by the lock alone. What lies there without it is left
// over, and is removed by whoever takes the lock.
package listen

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// Error is what a person can do something about.
type Error struct {
	Text string
	hint string
}

func (e *Error) Error() string { return e.Text }

// Hint says what to do.
func (e *Error) Hint() string { return e.hint }

// OutcomeCode is the code of the outcome that a program ends with (docs/reference/exit-codes.md).
func (e *Error) OutcomeCode() string { return "usage" }

// maxSocket is how long a socket's path can be, in bytes: Linux has 108 with the zero
// at the end, other systems 104.
const maxSocket = 103

// Dir is the folder of a home's daemon.
func Dir(home string) string { return filepath.Join(home, "run") }

// Socket is the path of a home's socket: HOME/run/daemon.sock, or when that is too
// long for a socket a name in runtimeDir ($XDG_RUNTIME_DIR) that follows from home.
func Socket(home, runtimeDir string) (string, error) {
	path := filepath.Join(Dir(home), "daemon.sock")
	if len(path) <= maxSocket {
		return path, nil
	}
	sum := sha256.Sum256([]byte(home))
	short := filepath.Join(runtimeDir, "holdfast-"+hex.EncodeToString(sum[:8])+".sock")
	if runtimeDir != "" && filepath.IsAbs(runtimeDir) && len(short) <= maxSocket {
		return short, nil
	}
	return "", &Error{fmt.Sprintf("%s is %d bytes long; the path of a socket can have %d", path, len(path), maxSocket), "set XDG_RUNTIME_DIR to a short folder of yours, or a shorter HOLDFAST_HOME"}
}

// Unix listens on a socket that only its owner can use. A socket that is left over is
// replaced: the caller has the lock.
func Unix(ctx context.Context, path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSocket == 0:
		return nil, &Error{path + " is there and is no socket", "move it away"}
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{Control: ownerOnly}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Check refuses addresses that would not be safe, before anything is opened. It loads the
// certificate; it is nil if no files are named.
func Check(addresses []string, certFile, keyFile string) (cert *Certificate, err error) {
	if (certFile == "") != (keyFile == "") {
		return nil, &Error{"TLS needs both a certificate and its key", "--tls-cert FILE --tls-key FILE"}
	}
	if certFile != "" {
		if cert, err = LoadCertificate(certFile, keyFile); err != nil {
			return nil, err
		}
	}
	for _, address := range addresses {
		if err := CheckTCP(address, cert != nil); err != nil {
			return nil, err
		}
	}
	return cert, nil
}

// CheckTCP refuses an address that other machines reach, unless clients speak TLS there.
func CheckTCP(address string, tls bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return &Error{fmt.Sprintf("%q is no address to listen on: %v", address, err), "write HOST:PORT, as 127.0.0.1:7423"}
	}
	if tls || loopback(host) {
		return nil
	}
	return &Error{
		fmt.Sprintf("%s can be reached from other machines, and tokens would cross the network in the clear", address),
		"add --tls-cert FILE --tls-key FILE, or listen on 127.0.0.1 and let ssh -L or a proxy with TLS lead there",
	}
}

// loopback reports whether only this machine reaches a host. The name localhost
// counts; other names do not, whatever they point to today.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
