// An example controller on kvorum::sync: for every order in /orders/ it keeps an invoice in
// /invoices/, and ends when the order `last` has been deleted.
//
//   controller ENDPOINT...
#include <client/client.h>
#include <client/error_text.h>
#include <proto/rpc.pb.h>
#include <sync/informer/informer.h>
#include <sync/store/client_store.h>

#include <chrono>
#include <future>
#include <iostream>
#include <string>

namespace kv = kvorum::client;
using Orders = kvorum::sync::Informer<kvorum::sync::BytesCodec>;

namespace {

std::string InvoiceOf(const Orders::EntryRef& order) {
  return "/invoices/" + std::string(order->key().substr(std::string("/orders/").size()));
}

// Makes the invoice right, from any state. Called for what is new and, every ten minutes, for
// everything again, so that nothing that went wrong once stays wrong.
void Reconcile(kv::Client& client, const Orders::EntryRef& order) {
  etcdserverpb::PutRequest put;
  put.set_key(InvoiceOf(order));
  put.set_value("for " + std::string(order->value()));
  const auto done = client.Put(put, kv::CallOptions::Within(std::chrono::seconds(10)));
  std::cout << put.key() << (done ? " written" : " failed") << std::endl;
}

int Control(kv::Client& client) {
  kvorum::sync::ClientStore store(client);
  kvorum::ThreadExecutor executor("controller");
  Orders::Options options;
  options.source.prefix = "/orders/";
  options.resync = std::chrono::minutes(10);
  options.on_report = [](const std::string& text) { std::cerr << text << '\n'; };
  Orders orders(store, executor, std::move(options));

  std::promise<void> is_over;
  const auto listener = orders.AddListener(
      {.name = "invoices", .on_synced = [] { std::cout << "synced" << std::endl; }},
      {.on_add = [&](const auto& order, bool) { Reconcile(client, order); },
       .on_update = [&](const auto&, const auto& order) { Reconcile(client, order); },
       .on_delete =
           [&](const auto& last) {
             std::cout << last->key() << " gone" << std::endl;
             if (last->key() == "/orders/last") is_over.set_value();
           }});
  if (!listener || !orders.Run()) return 1;
  is_over.get_future().wait();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto client = kv::Client::Connect({.endpoints = {argv + 1, argv + argc}});
  if (client) return Control(**client);
  std::cerr << kv::ErrorText(client.error()) << '\n';
  return 1;
}
