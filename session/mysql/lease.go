package mysql

import (
	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// take gives a lease the next epoch and commits. Its statements are sent as one text, so that the
// server locks the epoch counter no longer than necessary.
func take(shared rows.Tx, id string, l *session.Lease, held bool) error {
	t := shared.(*tx)
	text, err := rows.LeaseText(*l)
	if err != nil {
		return err
	}
	query := "INSERT INTO leases (epoch, lease, id) VALUES (LAST_INSERT_ID(), ?, ?)"
	if held {
		query = "UPDATE leases SET epoch = LAST_INSERT_ID(), lease = ? WHERE id = ?"
	}
	_, err = t.exec("UPDATE epochs SET last = LAST_INSERT_ID(last + 1) WHERE one = 1; "+query+
		"; UPDATE sessions SET epoch = LAST_INSERT_ID() WHERE id = ? AND deleted = 0; COMMIT", []byte(text), []byte(id), []byte(id))
	if errorCode(err) == codeDuplicate { // another process acquired the lease meanwhile
		return errAgain
	}
	if err != nil {
		return err
	}
	t.begun = false
	if _, err := t.row([]any{&l.Epoch}, "SELECT LAST_INSERT_ID()"); err != nil {
		return err
	}
	if l.Epoch < 1 {
		return rows.NoEpochs(id)
	}
	return nil
}
