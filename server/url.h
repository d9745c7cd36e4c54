// URLs as flags and members spell them (base/url.h), under the server's name.
#pragma once

#include "base/url.h"

namespace kvorum::server {

using kvorum::ParseUrlList;
using kvorum::ParseUrls;
using kvorum::Url;

}  // namespace kvorum::server
