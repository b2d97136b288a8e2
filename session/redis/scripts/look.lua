-- look: a session's fields
return {'ok', redis.call('HGETALL', SESSION)}
