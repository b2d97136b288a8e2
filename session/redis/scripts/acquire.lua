-- acquire: epoch and lease as they were seen, the new lease around the place of the time,
-- a token that tells a retry
local was = redis.call('HMGET', LEASE, 'epoch', 'lease', 'token')
if was[3] == ARGV[7] then
  redis.call('HSET', LEASE, 'token', ARGV[7])
  return {'ok', was[1]}
end
if (was[1] or '') ~= ARGV[3] or (was[2] or '') ~= ARGV[4] then
  return {'held', was[1] or '', was[2] or '', clock(), former()}
end
redis.call('INCR', base .. 'epoch')
local epoch = redis.call('GET', base .. 'epoch')
if was[1] then
  redis.call('HSET', LEASE, 'former', was[1], 'former_lease', was[2])
end
redis.call('HSET', LEASE, 'epoch', epoch, 'lease', ARGV[5] .. clock() .. ARGV[6], 'token', ARGV[7])
return {'ok', epoch}
