package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// repairFolders repairs changes to the folders of a workspace that an agent has made and that would
// break the next agent: permissions that the agent removed, and files that it created in place of
// sockets. The workspace is locked; only Holdfast renames these folders.
func repairFolders(ctx context.Context, dir *os.Root) error {
	for _, name := range []string{homeName, runName, projectName} {
		if err := giveOwnerRights(dir, name); err != nil {
			return err
		}
	}
	run, err := openFolder(dir, runName)
	if err != nil {
		return nil // later callers report the error
	}
	defer run.Close()
	names, err := namesIn(run)
	if err != nil {
		return err
	}
	for _, name := range names {
		seen, err := run.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case seen.Mode().Type() != fs.ModeSocket:
			_, err = removeTree(ctx, run, name)
		case !strings.HasPrefix(name, newPrefix) && seen.Mode().Perm()&0o600 != 0o600:
			err = run.Chmod(name, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// giveOwnerRights gives the owner of a folder all permissions for it. It ignores a path that is not a
// folder.
func giveOwnerRights(dir *os.Root, name string) error {
	seen, err := dir.Lstat(name)
	if err != nil || !seen.IsDir() || seen.Mode().Perm()&0o700 == 0o700 {
		return nil //nolint:nilerr // as above
	}
	return dir.Chmod(name, seen.Mode().Perm()|0o700)
}
