package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

type listener = net.Listener

// listenIn listens on a unix socket in a folder that a container can write. It replaces an existing
// file, and does not open it or follow it as a link. The agent may connect.
func listenIn(run *os.Root, name string) (listener, error) {
	dir, err := run.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	tmp := ".new-" + newID() // the name is new, so no file can have it
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), tmp)})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	uid, gid := agentUser()
	if os.Getuid() == 0 {
		err = run.Lchown(tmp, uid, gid)
	}
	if err == nil {
		if err = run.Rename(tmp, name); err != nil { // a folder with this name exists and is not empty
			_, err = removeTree(context.Background(), run, name)
			if err == nil {
				err = run.Rename(tmp, name)
			}
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), run.Remove(tmp))
	}
	return l, nil
}
