// Package history repairs and renders the items of a session: the items that answer calls
// which have no result, a list whose tool uses and results pair again, and a history as text
// for a model that cannot be given the items.
package history
