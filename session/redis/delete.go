package redis

import "context"

// Delete implements [session.Deleter]. The server's append-only file contains the deleted data
// until the server rewrites the file. It does so when the file has grown. To remove content at
// once, erase it first, see [Store.Erase].
func (s *Store) Delete(ctx context.Context, id string) error {
	_, err := s.write(ctx, "delete", id, deleteScript())
	return err
}
