-- acquire: epoch and lease as they were seen, the new lease, a token that tells a retry
local was = redis.call('HMGET', LEASE, 'epoch', 'lease', 'token')
if was[3] == ARGV[6] then
  redis.call('HSET', LEASE, 'token', ARGV[6])
  return {'ok', was[1]}
end
if (was[1] or '') ~= ARGV[3] or (was[2] or '') ~= ARGV[4] then
  return {'held', was[1] or '', was[2] or ''}
end
redis.call('INCR', base .. 'epoch')
local epoch = redis.call('GET', base .. 'epoch')
redis.call('HSET', LEASE, 'epoch', epoch, 'lease', ARGV[5], 'token', ARGV[6])
return {'ok', epoch}
