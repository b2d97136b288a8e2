package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// agentUser is who agents are inside their container: the caller, but never root.
func agentUser() (uid, gid int) {
	if uid, gid = os.Getuid(), os.Getgid(); uid == 0 {
		return 4711, 4711
	}
	return max(uid, 0), max(gid, 0) // -1 where users have no numbers
}

// checkFolders checks that the folders which holdfast made are the agent's: a workspace that
// one user made and another uses has agents who can do nothing in it.
func (w *Workspaces) checkFolders(h *workspaceLock, s *Settings) error {
	parts := []string{homeName, runName}
	if s.Project == "" {
		parts = append(parts, projectName)
	}
	uid, gid := agentUser()
	for _, name := range parts {
		dir, err := openFolder(h.dir, name)
		if err != nil {
			return &Error{Op: "start", Slug: s.Slug, Err: ErrDamaged, Detail: err.Error(), Advice: "holdfast workspace delete " + s.Slug}
		}
		owner, ok := ownerOf(dir)
		if err := dir.Close(); err != nil {
			return err
		}
		if ok && owner != uid {
			path := filepath.Join(w.folder(), s.Slug, name)
			return &Error{
				Op: "start", Slug: s.Slug, Path: path, Err: ErrWrongUser, Detail: fmt.Sprintf("it belongs to user %d, and the agent is user %d", owner, uid),
				Advice: fmt.Sprintf("run holdfast as the user who made the workspace; or, as root: chown -R %d:%d %s", uid, gid, path),
			}
		}
	}
	if s.Project == "" {
		return nil
	}
	return w.checkProject(s, uid, gid)
}

// MayWork looks whether the agent may use the folders of a workspace: [ErrWrongUser]
// with who it is, before anything is started.
func (w *Workspaces) MayWork(ctx context.Context, slug string) error {
	h, err := w.lock(ctx, "start", slug)
	if err != nil {
		return err
	}
	defer h.Release()
	_, err = w.ready(ctx, h, slug)
	return err
}

// checkProject checks that the agent may write a folder that is somebody's own.
func (w *Workspaces) checkProject(s *Settings, uid, gid int) error {
	ok, err := mayWrite(s.Project, uid, gid)
	if err != nil {
		if p := w.checkPaths(s, nil); p != nil { // it says what is wrong with it
			return p.error(s.Slug)
		}
		return &Error{Op: "start", Slug: s.Slug, Path: s.Project, Err: err}
	}
	if ok {
		return nil
	}
	advice := fmt.Sprintf("chown -R %d:%d %s", uid, gid, s.Project)
	if os.Getuid() == 0 {
		advice = "run holdfast as the user whose folder it is; or " + advice
	}
	return &Error{Op: "start", Slug: s.Slug, Path: s.Project, Err: ErrWrongUser, Detail: fmt.Sprintf("the agent is user %d and may not write there", uid), Advice: advice}
}
