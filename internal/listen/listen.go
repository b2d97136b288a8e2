// Package listen manages the files by which clients find a daemon: its folder, its lock, its
// socket, and the file that describes the daemon.
//
//	HOME/run/ (0700)   daemon.lock   held while a daemon runs; says its pid
//	                   daemon.sock   0600
//	                   daemon.json   [Info], for people and for `holdfast daemon status`
//	                   daemon.log    the log of a daemon that a command has started
//	                   private-*     the sockets of servers inside other programs
//	                   tokens.json   (package internal/daemon/auth)
//
// Only the lock shows whether a daemon is running. Files without a held lock are left over, and the
// next lock holder removes them.
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

// Error is an error that the user can fix.
type Error struct {
	Text string
	hint string
}

func (e *Error) Error() string { return e.Text }

// Hint returns how to fix the error.
func (e *Error) Hint() string { return e.hint }

// OutcomeCode returns the outcome code of the program (docs/reference/exit-codes.md).
func (e *Error) OutcomeCode() string { return "usage" }

// maxSocketPath is the maximum length of a socket's path in bytes: Linux allows 108 with the final
// zero, other systems 104.
const maxSocketPath = 103

// Dir returns the folder of the daemon of a home.
func Dir(home string) string { return filepath.Join(home, "run") }

// LogFile returns the log of a daemon that a command has started.
func LogFile(home string) string { return filepath.Join(Dir(home), "daemon.log") }

// SocketName is the name of a socket in its folder.
const SocketName = "daemon.sock"

// FitsSocket reports whether the path of a socket in a folder is short enough for the system.
func FitsSocket(dir string) bool { return len(filepath.Join(dir, SocketName)) <= maxSocketPath }

// SocketPath returns the path of the socket of a home. The path is HOME/run/daemon.sock. If that is too
// long, it is a name in runtimeDir ($XDG_RUNTIME_DIR) that is derived from home.
func SocketPath(home, runtimeDir string) (string, error) {
	path := filepath.Join(Dir(home), SocketName)
	if FitsSocket(Dir(home)) {
		return path, nil
	}
	sum := sha256.Sum256([]byte(home))
	short := filepath.Join(runtimeDir, "holdfast-"+hex.EncodeToString(sum[:8])+".sock")
	if runtimeDir != "" && filepath.IsAbs(runtimeDir) && len(short) <= maxSocketPath {
		return short, nil
	}
	return "", &Error{fmt.Sprintf("the socket path %s is %d bytes long; the maximum is %d", path, len(path), maxSocketPath), "set XDG_RUNTIME_DIR or HOLDFAST_HOME to a folder with a shorter path"}
}

// Unix listens on a socket that only its owner can use. It replaces a left-over socket, because the
// caller holds the lock.
func Unix(ctx context.Context, path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSocket == 0:
		return nil, &Error{path + " exists and is not a socket", "move it away"}
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

// Check rejects unsafe addresses before anything is opened. It loads the certificate; cert is nil
// if no files are named.
func Check(addresses []string, certFile, keyFile string) (cert *Certificate, err error) {
	if (certFile == "") != (keyFile == "") {
		return nil, &Error{"TLS needs both a certificate and its key", "pass both --tls-cert FILE and --tls-key FILE"}
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

// CheckTCP rejects an address that other machines can reach, unless clients use TLS there.
func CheckTCP(address string, tls bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return &Error{fmt.Sprintf("invalid listen address %q: %v", address, err), "write HOST:PORT, such as 127.0.0.1:7423"}
	}
	if tls || isLoopback(host) {
		return nil
	}
	return &Error{
		fmt.Sprintf("%s can be reached from other machines, so tokens would be sent over the network unencrypted", address),
		"add --tls-cert FILE --tls-key FILE, or listen on 127.0.0.1 behind ssh -L or a TLS proxy",
	}
}

// isLoopback reports whether only this machine can reach a host. The only name that it accepts is
// localhost; it does not resolve other names.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
