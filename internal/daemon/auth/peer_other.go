//go:build !linux && !darwin

package auth

import (
	"errors"
	"syscall"
)

type identity struct{ uid, pid int }

// peerOf always fails: this system does not identify the peer of a unix socket.
func peerOf(syscall.RawConn) (identity, error) {
	return identity{uid: -1}, errors.New("this system cannot identify the peer of a unix socket")
}

func (identity) isAlive() bool { return false }
func (identity) close()        {}

func stat(int) (process, error) { return process{}, errors.ErrUnsupported }
